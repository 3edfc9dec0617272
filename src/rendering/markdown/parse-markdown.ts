// Markdown as models write it to the one tree: linear in time, capped in depth and size, no word lost.
import { plainBlocks } from '../plain-tree.ts'
import { safeUrl } from '../safe-url.ts'
import { cleanShownText } from '../shown-text.ts'
import type { Block, Inline, Root } from '../tree.ts'
import { type Definition, type NoteTree, readBlocks } from './block-tree.ts'
import { footnoteNumber, noteNumbers } from './footnotes.ts'
import type { Building } from './inline-tree.ts'
import { markdownTokens } from './markdown-parser.ts'

export type MarkdownOptions = {
  /** Names as they are written, in small letters, that may reach whom they name. */
  readonly mayNotify?: ReadonlySet<string>
}

/** What comes after these many nodes is text. */
const maxNodes = 5000
// Without any of these a text is paragraphs and line ends.
const markup = /[`*_~[\]<>&|\\#@]|:\/\/|^(?: {0,3}(?:[-+=]|\d{1,9}[.)])| {4}|\t)/m

export function parseMarkdown(text: string, options: MarkdownOptions = {}): Root {
  const clean = cleanShownText(text)
  if (!markup.test(clean)) return { type: 'root', children: plainBlocks(clean) }
  const env: Record<string, unknown> = {}
  const tokens = markdownTokens(clean, env)
  const building: Building = { mayNotify: options.mayNotify ?? new Set(), notes: noteNumbers(env), used: new Set() }
  const children: Block[] = []
  const notes: NoteTree[] = []
  const definitions: Definition[] = []
  let nodes = 0
  readBlocks(tokens, building, {
    block(block, line, count) {
      nodes += count
      if (nodes <= maxNodes) children.push(block)
      else children.push(...plainBlocks(fromLine(clean, line), building.mayNotify))
      return nodes <= maxNodes
    },
    rest: (line) => void children.push(...plainBlocks(fromLine(clean, line), building.mayNotify)),
    note: (note) => void notes.push(note),
    definition: (definition) => void definitions.push(definition),
  })
  return {
    type: 'root',
    children: [...children, ...noteBlocks(notes, building), ...unused(definitions, clean, building)],
  }
}

function fromLine(text: string, line: number): string {
  let at = 0
  for (let passed = 0; passed < line; passed += 1) at = text.indexOf('\n', at) + 1
  return text.slice(at)
}

/** Notes in the order of their numbers; one that is not referred to comes last. */
function noteBlocks(notes: readonly NoteTree[], { notes: numbers }: Building): readonly Block[] {
  const numbered = notes.map((note) => ({ number: footnoteNumber(numbers, note.label), note }))
  return numbered
    .toSorted((one, other) => one.number - other.number)
    .map(({ number, note }) => ({ type: 'paragraph', children: led(`[${number}] `, note.children) }))
}

function led(lead: string, children: readonly Inline[]): readonly Inline[] {
  const [first, ...rest] = children
  return first?.type === 'text'
    ? [{ type: 'text', value: lead + first.value }, ...rest]
    : [{ type: 'text', value: lead }, ...children]
}

const written = /^[\s>]*\[((?:[^\\[\]]|\\.)*)\]:\s*<?([^\s>]*)/

/** An address that no link uses is shown: it was written to be read. */
function unused(definitions: readonly Definition[], text: string, { used }: Building): readonly Block[] {
  const left = definitions.filter(({ label }) => !used.has(label))
  if (left.length === 0) return []
  const lines = text.split('\n')
  return left.flatMap(({ line }): readonly Block[] => {
    const [, label = '', address = ''] = written.exec(`${lines[line]}\n${lines[line + 1] ?? ''}`) ?? []
    const url = safeUrl(address)
    const shown: Inline = { type: 'text', value: address }
    const link: Inline = url === undefined ? shown : { type: 'link', url, children: [shown] }
    return [{ type: 'paragraph', children: [{ type: 'text', value: `[${label}]: ` }, link] }]
  })
}
