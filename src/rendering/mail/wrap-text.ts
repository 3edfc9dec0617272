// Lines of at most so many columns, cut between words; a word that is longer, such as an address, stays whole.
import { displayWidth } from '../table/display-width.ts'

// Scripts that are written without spaces may be cut before any of their characters.
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]|[^\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]+/gu

export function wrapText(text: string, columns: number): readonly string[] {
  return text.split('\n').flatMap((line) => wrapLine(line, columns))
}

function wrapLine(text: string, columns: number): readonly string[] {
  const lines: string[] = []
  let line = ''
  let width = 0
  for (const word of text.split(/[ \t]+/)) {
    let space = line === '' ? '' : ' '
    for (const piece of splitLongWord(word, columns)) {
      const pieceWidth = displayWidth(piece)
      if (line !== '' && width + space.length + pieceWidth > columns) {
        lines.push(line)
        line = piece
        width = pieceWidth
      } else {
        line += space + piece
        width += space.length + pieceWidth
      }
      space = ''
    }
  }
  return [...lines, line]
}

function splitLongWord(word: string, columns: number): readonly string[] {
  if (word.length * 2 <= columns || word.includes('://')) return [word]
  return word.match(unspaced) ?? [word]
}
