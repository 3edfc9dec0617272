// A reference reading of a tree, written without a look at any face: its words in order, and the addresses it leads to.
import type { Block, Inline, Root } from '../../../../src/markdown/tree.ts'

/** Words of one block. Faces may turn a table on its side, so the words of a table have no order. */
export type Passage = { readonly words: readonly string[]; readonly isOrdered: boolean }

export function passages(root: Root): readonly Passage[] {
  return root.children.flatMap(blockPassages)
}

export function addresses(root: Root): ReadonlySet<string> {
  const found = new Set<string>()
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return void value.forEach(visit)
    if (typeof value !== 'object' || value === null) return
    if ('type' in value && value.type === 'link' && 'url' in value) found.add(String(value.url))
    if ('children' in value) visit(value.children)
  }
  visit(root)
  return found
}

/** The first passage of which something is missing behind the passages before it, in words; undefined when all is there. */
export function missingWord(root: Root, shown: string): string | undefined {
  const text = bare(shown)
  let at = 0
  for (const { words, isOrdered } of passages(root)) {
    let end = at
    for (const word of words) {
      const found = placeOf(text, word, isOrdered ? end : at)
      if (found === undefined) return `${word} (of: ${words.join(' ').slice(0, 200)})`
      end = isOrdered ? found : Math.max(end, found)
    }
    at = isOrdered ? end : at
  }
  return undefined
}

/** Where the word ends. Faces may write marks into a word, and a word may be cut where a message ends. */
function placeOf(text: string, word: string, from: number): number | undefined {
  const at = text.indexOf(word, from)
  if (at !== -1) return at + word.length
  const first = [...word][0] ?? ''
  for (let start = text.indexOf(first, from); start !== -1; start = text.indexOf(first, start + 1)) {
    const end = endWithMarks(text, word, start)
    if (end !== undefined) return end
  }
  return undefined
}

function endWithMarks(text: string, word: string, start: number): number | undefined {
  let end = start
  for (const character of word) {
    const next = text.indexOf(character, end)
    if (next === -1 || next - end > longestSeam || !seam.test(text.slice(end, next))) return undefined
    end = next + character.length
  }
  return end
}

/** Marks of emphasis and quotes, the number of a note or a post, the end of a block of code and the beginning of the next. */
const seam = /^(?:[*_~>[\]()\d/|…-]|`[\w+#.]*)*$/
const longestSeam = 48

/** Without white space and what nobody sees. */
function bare(text: string): string {
  return text.replace(/[\s\u200b\u2060\ufeff]+/g, '')
}

function blockPassages(block: Block): readonly Passage[] {
  switch (block.type) {
    case 'paragraph':
    case 'heading':
      return [ordered(inlineText(block.children))]
    case 'blockquote':
      return block.children.flatMap(blockPassages)
    case 'list':
      return block.children.flatMap((item) => item.children.flatMap(blockPassages))
    case 'code':
      return [ordered(block.value)]
    case 'table':
      return block.children.map((row) => ({
        words: row.children.flatMap((cell) => wordsOf(inlineText(cell.children))),
        isOrdered: false,
      }))
    case 'thematicBreak':
      return []
    default:
      return block satisfies never
  }
}

function ordered(text: string): Passage {
  return { words: wordsOf(text), isOrdered: true }
}

function wordsOf(text: string): readonly string[] {
  return text
    .split(/\s+/)
    .map(bare)
    .filter((word) => word !== '')
}

function inlineText(nodes: readonly Inline[]): string {
  return nodes
    .map((node) => {
      switch (node.type) {
        case 'text':
        case 'inlineCode':
          return node.value
        case 'break':
          return '\n'
        case 'mention':
          return node.name
        case 'link':
          // A face may show the address there.
          return ` ${inlineText(node.children)} `
        case 'strong':
        case 'emphasis':
        case 'delete':
          return inlineText(node.children)
        default:
          return node satisfies never
      }
    })
    .join('')
}
