// Inline nodes into a text with ranges.
import { safeUrl } from '../safe-url.ts'
import { inlineText } from '../table/inline-text.ts'
import type { Inline, Link } from '../tree.ts'
import type { Draft } from './draft.ts'

type MarkType = 'bold' | 'italic' | 'strikethrough'
const marks: Readonly<Record<'strong' | 'emphasis' | 'delete', MarkType>> = {
  strong: 'bold',
  emphasis: 'italic',
  delete: 'strikethrough',
}

export type InlineScene = {
  /** Begins every new line. */
  readonly indent: string
  /** The ranges that are open around the nodes. */
  readonly marks: readonly MarkType[]
  readonly isLink?: boolean
  /** No range will be seen. */
  readonly isPlain: boolean
}

export function writeInline(draft: Draft, nodes: readonly Inline[], scene: InlineScene): void {
  for (const node of nodes) writeNode(draft, node, scene)
}

function writeNode(draft: Draft, node: Inline, scene: InlineScene): void {
  const start = draft.text.length
  switch (node.type) {
    case 'text':
      draft.text += node.value
      break
    case 'break':
      draft.text += `\n${scene.indent}`
      break
    case 'mention':
      draft.text += node.name
      draft.ranges.push({ type: 'live', start, end: draft.text.length })
      break
    case 'inlineCode':
      draft.text += node.value
      // A link cannot hold code, and is worth more.
      if (scene.isLink !== true) draft.ranges.push({ type: 'code', start, end: draft.text.length })
      break
    case 'link':
      writeLink(draft, node, scene)
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
  if (scene.marks.includes(mark)) {
    writeInline(draft, nodes, scene)
    return
  }
  const start = draft.text.length
  writeInline(draft, nodes, { ...scene, marks: [...scene.marks, mark] })
  draft.ranges.push({ type: mark, start, end: draft.text.length })
}

/** Ranges lead to web pages only; any other address is shown. Plain text shows them all. */
function writeLink(draft: Draft, { url, children }: Link, scene: InlineScene): void {
  const start = draft.text.length
  writeInline(draft, children, { ...scene, isLink: true })
  if (url.startsWith('http') && !scene.isPlain) {
    draft.ranges.push({ type: 'text_link', url, start, end: draft.text.length })
    return
  }
  const address = url.startsWith('http') ? url : url.slice(url.indexOf(':') + 1)
  const label = inlineText(children)
  if (!label.includes(address) && safeUrl(label) !== url) draft.text += ` (${address})`
}
