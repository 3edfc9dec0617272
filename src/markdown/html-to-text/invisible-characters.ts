// Invisible characters: they carry hidden words, break words apart for filters, or turn a text's direction around.

// Controls but tab and line ends, and everything Unicode calls ignorable, but what emoji and some scripts are joined with.
const unseen =
  /(?![\u200c\u200d]|\ufe0e|\ufe0f)\p{Default_Ignorable_Code_Point}|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\ufff9-\ufffb]/gu
const repeatedSelectors = /(?:\ufe0e|\ufe0f){2,}/g
const joiners = /[\u200c\u200d]+/g
const emoji = /[\p{Extended_Pictographic}\p{Emoji_Modifier}]|\ufe0f/u
// The scripts that are written with joiners.
const joinedScript =
  /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Khmer}]/u

export function removeInvisibleExceptJoiners(text: string): string {
  return text.replace(unseen, '').replace(repeatedSelectors, '\ufe0f')
}

/** A joiner stays where it joins: one, between two letters of a script that needs it or between two emoji. */
export function removeUnneededZeroWidthJoiners(text: string): string {
  return text.replace(joiners, (run, at: number) => {
    const before = [...text.slice(Math.max(0, at - 2), at)].at(-1) ?? ''
    const after = String.fromCodePoint(text.codePointAt(at + run.length) ?? 0)
    const joins = [emoji, joinedScript].some((kind) => kind.test(before) && kind.test(after))
    return joins ? run.charAt(0) : ''
  })
}

/** Text that never was markup, without its invisible characters. */
export function withoutInvisible(text: string): string {
  return removeUnneededZeroWidthJoiners(removeInvisibleExceptJoiners(text))
}
