!echo "hello from the shell"
!pwd | wc -l
lines = !printf "a\nb"
lines
# %%
%%bash
for i in 1 2 3; do
  echo "line $i"
done
echo "to stderr" >&2
# %%
n = 3
!seq {n} | tail -1
!python -c "print(6 * 7)"
# %%
!ls no-such-file
print("goes on", _exit_code)
# %%
import subprocess
subprocess.run(["echo", "hi"], capture_output=True, text=True)
# %%
subprocess.run("exit 3", shell=True, check=True)
# %%
import os
os.system("exit 3") >> 8
