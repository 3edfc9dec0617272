// Inline nodes into a text with ranges.
import type { Inline } from '../tree.ts'
import type { Draft, Range } from './draft.ts'

type MarkType = 'bold' | 'italic' | 'strikethrough'
const marks: Readonly<Record<'strong' | 'emphasis' | 'delete', MarkType>> = {
  strong: 'bold',
  emphasis: 'italic',
  delete: 'strikethrough',
}

/** What surrounds the nodes: `indent` begins every new line, `marks` are the ranges that are open, `isLink` tells of a link. */
export type InlineScene = { readonly indent: string; readonly marks: readonly MarkType[]; readonly isLink?: boolean }

export function writeInline(draft: Draft, nodes: readonly Inline[], scene: InlineScene): void {
  for (const node of nodes) writeNode(draft, node, scene)
}

function writeNode(draft: Draft, node: Inline, scene: InlineScene): void {
  switch (node.type) {
    case 'text':
      draft.text += node.value
      break
    case 'break':
      draft.text += `\n${scene.indent}`
      break
    case 'mention':
      covered(
        draft,
        (start, end) => ({ type: 'live', start, end }),
        () => {
          draft.text += node.name
        },
      )
      break
    case 'inlineCode':
      // A link cannot hold code, and is worth more.
      if (scene.isLink === true) draft.text += node.value
      else {
        covered(
          draft,
          (start, end) => ({ type: 'code', start, end }),
          () => {
            draft.text += node.value
          },
        )
      }
      break
    case 'link':
      covered(
        draft,
        (start, end) => ({ type: 'text_link', url: node.url, start, end }),
        () => {
          writeInline(draft, node.children, { ...scene, isLink: true })
        },
      )
      break
    case 'strong':
    case 'emphasis':
    case 'delete':
      writeMarked(draft, marks[node.type], node.children, scene)
      break
    default:
      node satisfies never
  }
}

/** Bold inside bold is bold once. */
export function writeMarked(draft: Draft, mark: MarkType, nodes: readonly Inline[], scene: InlineScene): void {
  if (scene.marks.includes(mark)) writeInline(draft, nodes, scene)
  else {
    covered(
      draft,
      (start, end) => ({ type: mark, start, end }),
      () => {
        writeInline(draft, nodes, { ...scene, marks: [...scene.marks, mark] })
      },
    )
  }
}

function covered(draft: Draft, rangeOf: (start: number, end: number) => Range, write: () => void): void {
  const start = draft.text.length
  write()
  if (draft.text.length > start) draft.ranges.push(rangeOf(start, draft.text.length))
}
