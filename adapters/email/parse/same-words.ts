// Whether two versions of a mail say the same to a reader: one of them is what a person sees, the other what we read.

const word = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[\p{L}\p{N}]+/gu
const address = /(?:https?:\/\/|www\.|mailto:|cid:)\S*/gi
const maxLength = 64 * 1024

/** False where more than half of all their words stand in only one of them. */
export function sayTheSame(one: string, other: string): boolean {
  // Nearly always they are one text with other line ends.
  if (unwrapped(one) === unwrapped(other)) return true
  const [first, second] = [wordSet(one), wordSet(other)]
  const shared = [...first].filter((each) => second.has(each)).length
  const all = first.size + second.size - shared
  return all === 0 || shared * 2 >= all
}

const unwrapped = (text: string): string => text.replace(/\s+/g, ' ')

/** Where links lead to is written in one version and hidden in the other. */
function wordSet(text: string): ReadonlySet<string> {
  const words = text.slice(0, maxLength).replace(address, ' ').toLowerCase().match(word) ?? []
  return new Set(words)
}
