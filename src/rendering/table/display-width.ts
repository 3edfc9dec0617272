// How many columns a text takes in a fixed-width font: East Asian characters and emoji take two, combining marks none.

const onlyAscii = /^[\x20-\x7e]*$/
const withoutWidth = /[\p{Mn}\p{Me}\p{Cf}]/u
const wide =
  /[\p{Emoji_Presentation}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303f\uff01-\uff60\uffe0-\uffe6]/u
const joiner = '\u200d'

export function displayWidth(text: string): number {
  if (onlyAscii.test(text)) return text.length
  let width = 0
  let isJoined = false
  for (const character of text) {
    // A family is drawn as one figure, however many people are joined in it.
    if (!isJoined) width += characterWidth(character)
    isJoined = character === joiner
  }
  return width
}

function characterWidth(character: string): number {
  if (withoutWidth.test(character)) return 0
  return wide.test(character) ? 2 : 1
}
