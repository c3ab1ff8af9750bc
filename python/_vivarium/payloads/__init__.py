"""Code that the host sends into sessions as text.

Each file is sent exactly as it is and run by a bare `exec`, in sessions and in Jupyter kernels that have nothing of
ours. So a payload imports the standard library only and shares no code with the rest of the package. `analysis` is a
package of its own: its files import each other relatively, and the host loads them in order under this package's name.
"""
