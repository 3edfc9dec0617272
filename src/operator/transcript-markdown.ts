// A transcript as Markdown, for people. What was said is quoted, so that nothing in it can pass for a heading of ours.
import type { Envelope } from '../contract/index.ts'

type Line = { readonly seq: number; readonly envelope: Envelope }
type About = { readonly id: string; readonly connection: string; readonly agent: string; readonly createdAt: string }

export function transcriptMarkdown({ id, connection, agent, createdAt }: About, lines: readonly Line[]): string {
  const head = [`# Session ${id}`, '', `With ${agent}, on ${connection}, since ${new Date(createdAt).toISOString()}.`]
  return [...head, ...lines.map(({ seq, envelope }) => transcriptLineMarkdown(seq, envelope)), ''].join('\n')
}

function transcriptLineMarkdown(seq: number, { role, type, content, created_at, metadata }: Envelope): string {
  const kind = type === 'text' ? '' : ` (${type})`
  const by = metadata['spoken_by'] === 'operator' ? ' (a person)' : metadata['overheard'] === true ? ' (overheard)' : ''
  const when = created_at === undefined ? '' : `, ${created_at}`
  const isGone = metadata['deleted'] === true
  const text = typeof content === 'string' ? content : JSON.stringify(content)
  const quoted = (isGone ? '*deleted*' : text).split(/\r?\n/).map((each) => `> ${each}`)
  return ['', `## ${seq} ${role}${by}${kind}${when}`, '', ...quoted].join('\n')
}
