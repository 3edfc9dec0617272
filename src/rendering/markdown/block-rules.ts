// What we change in the parser's block rules: nesting is capped without losing words, a definition needs a real address, and
// a table row keeps the cells its header has no column for.
// Beyond a number of blocks that no reply needs, the rest is not parsed as blocks.
import type { MarkdownIt } from 'markdown-it'

type BlockRule = Parameters<MarkdownIt['block']['ruler']['push']>[1]
type BlockState = Parameters<BlockRule>[0]

/** Quotes, lists and items inside each other; what is deeper is text. */
const maxContainers = 16

const maxTokens = 12_000
const maxRows = 1200

const definition = /\[(?:[^\\[\]]|\\.){1,999}\]:\s{0,99}<?(?:https?:\/\/|mailto:|tel:)/iy

export function changeBlockRules(md: MarkdownIt): void {
  for (const name of ['blockquote', 'list']) {
    wrapBlockRule(md, name, (rule) => (state, start, end, silent) => {
      return state.level < maxContainers && rule(state, start, end, silent)
    })
  }
  wrapBlockRule(md, 'reference', (rule) => (state, start, end, silent) => {
    definition.lastIndex = (state.bMarks[start] ?? 0) + (state.tShift[start] ?? 0)
    // "[Note]: this" is a sentence, not an address.
    return definition.test(state.src) && rule(state, start, end, silent)
  })
  wrapBlockRule(md, 'table', (rule) => (state, start, end, silent) => {
    const from = state.tokens.length
    if (!rule(state, start, Math.min(end, start + maxRows), silent)) return false
    if (!silent) keepExtraCells(state, from)
    return true
  })
  md.block.ruler.before('table', 'rest', rest)
}

const rest: BlockRule = (state, start, end, silent) => {
  if (silent || state.tokens.length < maxTokens) return false
  state.push('rest', '', 0).map = [start, end]
  state.line = end
  return true
}

function wrapBlockRule(md: MarkdownIt, name: string, change: (rule: BlockRule) => BlockRule): void {
  const { ruler } = md.block
  const known = ruler.__rules__.find((rule) => rule.name === name)
  if (known !== undefined) ruler.at(name, change(known.fn), { alt: known.alt })
}

/** Words beyond the last column are put into it. */
function keepExtraCells(state: BlockState, from: number): void {
  let columns = 0
  let cell = 0
  let extra: readonly string[] = []
  for (let index = from; index < state.tokens.length; index += 1) {
    const token = state.tokens[index]
    if (token?.type === 'th_open') columns += 1
    else if (token?.type === 'tr_open') {
      cell = 0
      extra = columns === 0 ? [] : cellsBeyond(state, token.map?.[0] ?? 0, columns)
    } else if (token?.type === 'inline') {
      cell += 1
      if (cell === columns && extra.length > 0) token.content = [token.content, ...extra].join(' | ')
    }
  }
}

function cellsBeyond(state: BlockState, line: number, columns: number): readonly string[] {
  const text = state.src.slice((state.bMarks[line] ?? 0) + (state.tShift[line] ?? 0), state.eMarks[line]).trim()
  if (text.length <= columns || !hasMorePipes(text, columns)) return []
  const cells = text.split(/(?<!\\)\|/)
  if (cells[0] === '') cells.shift()
  if (cells.at(-1) === '') cells.pop()
  return cells.slice(columns).flatMap((each) => (each.trim() === '' ? [] : [each.trim()]))
}

function hasMorePipes(text: string, columns: number): boolean {
  let pipes = 0
  for (let at = text.indexOf('|'); at !== -1; at = text.indexOf('|', at + 1)) pipes += 1
  return pipes >= columns
}
