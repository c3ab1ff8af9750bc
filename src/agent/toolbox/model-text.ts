/** What a model is shown of a tool's answer: no heavy fields, and no more than it can use. */
import { shorten } from '../../text/excerpt.ts';

export function fitForModel(text: string, maxChars: number): string {
  return shorten(withoutHidden(text), maxChars);
}

/** Takes out of a JSON object the keys that its `hidden_to_model` names, and that list. */
function withoutHidden(text: string): string {
  if (!text.includes('"hidden_to_model"')) return text;
  const answer = parseObject(text);
  const hidden = answer?.['hidden_to_model'];
  if (answer === undefined || !Array.isArray(hidden)) return text;
  const names = new Set<unknown>([...(hidden as unknown[]), 'hidden_to_model']);
  return JSON.stringify(Object.fromEntries(Object.entries(answer).filter(([name]) => !names.has(name))));
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined; // words, not JSON: there are no keys to hide
  }
}
