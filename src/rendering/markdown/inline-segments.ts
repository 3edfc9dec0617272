// Inline nodes as one row of words, marks and finished pieces, each knowing what it stands beside.
import type { Inline, Link } from '../tree.ts'

type MarkType = 'strong' | 'emphasis' | 'delete'

export type Segment =
  | { readonly kind: 'words'; readonly text: string }
  /** Written already; `first` and `last` are how it begins and ends. */
  | { readonly kind: 'piece'; readonly node: Extract<Inline, { type: 'inlineCode' | 'break' }> | Link }
  | {
      readonly kind: 'mark'
      readonly type: MarkType
      readonly isOpening: boolean
      readonly id: number
    }

export function toInlineSegments(nodes: readonly Inline[]): readonly Segment[] {
  const segments: Segment[] = []
  const open = new Set<MarkType>()
  const read = (children: readonly Inline[]) => {
    for (const node of children) {
      switch (node.type) {
        case 'text':
          segments.push({ kind: 'words', text: node.value })
          break
        case 'mention':
          segments.push({ kind: 'words', text: node.name })
          break
        case 'inlineCode':
        case 'break':
        case 'link':
          segments.push({ kind: 'piece', node })
          break
        case 'strong':
        case 'emphasis':
        case 'delete': {
          const id = open.has(node.type) ? undefined : openedMark(segments, node.type)
          open.add(node.type)
          read(node.children)
          if (id === undefined) break
          open.delete(node.type)
          segments.push({ kind: 'mark', type: node.type, isOpening: false, id })
          break
        }
        default:
          node satisfies never
      }
    }
  }
  read(nodes)
  return segments
}

/** Where the same mark was closed right before, it goes on. */
function openedMark(segments: Segment[], type: MarkType): number {
  const last = segments.at(-1)
  if (last?.kind === 'mark' && last.type === type && !last.isOpening) {
    segments.pop()
    return last.id
  }
  const id = segments.length
  segments.push({ kind: 'mark', type, isOpening: true, id })
  return id
}

/** What a parser sees beside a mark: white space (also the end of the text), punctuation or a letter. */
export type Beside = 'space' | 'punctuation' | 'letter'

export function neighbourKind(segment: Segment | undefined, end: 'first' | 'last'): Beside {
  if (segment === undefined) return 'space'
  if (segment.kind === 'mark') return 'punctuation'
  if (segment.kind === 'piece') return segment.node.type === 'break' ? 'space' : 'punctuation'
  const character = end === 'first' ? firstCharacter(segment.text) : lastCharacter(segment.text)
  if (/^\s?$/.test(character)) return 'space'
  return /[\p{P}\p{S}]/u.test(character) ? 'punctuation' : 'letter'
}

export function firstCharacter(text: string): string {
  return String.fromCodePoint(...(text === '' ? [] : [text.codePointAt(0) ?? 0]))
}

export function lastCharacter(text: string): string {
  return /[\ud800-\udbff][\udc00-\udfff]$/.exec(text)?.[0] ?? text.slice(-1)
}
