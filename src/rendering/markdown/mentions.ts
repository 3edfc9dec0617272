// Names in running text that may notify the person they name: only those in `mayNotify`, each as its own node.
import type { Inline } from '../tree.ts'

// The name and, where it says one, its host. Neither a mail address nor a package name is one.
const written =
  /(?<![\p{L}\p{N}\p{M}_./@+-])@[\p{L}\p{N}_](?:[\p{L}\p{N}_.-]{0,62}[\p{L}\p{N}_])?(?:@[\p{L}\p{N}](?:[\p{L}\p{N}.-]{0,251}[\p{L}\p{N}])?)?(?![\p{L}\p{N}_@/])/gu

export function withMentions(text: string, mayNotify: ReadonlySet<string>): readonly Inline[] {
  const nodes: Inline[] = []
  let end = 0
  for (const { 0: name, index } of text.matchAll(written)) {
    if (!mayNotify.has(name.toLowerCase())) continue
    if (index > end) nodes.push({ type: 'text', value: text.slice(end, index) })
    nodes.push({ type: 'mention', name })
    end = index + name.length
  }
  if (end < text.length) nodes.push({ type: 'text', value: text.slice(end) })
  return nodes
}
