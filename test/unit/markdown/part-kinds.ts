// What every kind of part looks like on every face, written out cell by cell. docs/rendering.md shows the same cells.

import { renderNoteThread } from '../../../adapters/activitypub/render/note.ts'
import { renderMail } from '../../../adapters/email/render/body.ts'
import { renderBlocks } from '../../../adapters/slack/render/blocks.ts'
import { renderMarkdownText, renderMrkdwn } from '../../../adapters/slack/render/mrkdwn.ts'
import { policyBlocks } from '../../../adapters/slack/render/reply.ts'
import { renderEntityPieces } from '../../../adapters/telegram/render/entities.ts'
import type { NormalizedResponse, Part } from '../../../src/contract/index.ts'
import type { Json } from '../../../src/lib/json-value.ts'
import { renderMarkdown, renderPlain, replyTree } from '../../../src/markdown/index.ts'
import type { Root } from '../../../src/markdown/tree.ts'

export const faces = {
  blocks: (root) => shownBlocks(renderBlocks(root).flatMap(({ blocks }) => blocks)),
  mrkdwn: (root) => renderMrkdwn(root, 3000).join('\n'),
  'markdown text': (root) => renderMarkdownText(root).join('\n'),
  entities: (root) =>
    renderEntityPieces(root, { limit: 4096, maxRanges: 100, maxBytes: 32_768 })
      .map(({ text, entities }) => [text, ...entities.map((entity) => JSON.stringify(entity))].join(' '))
      .join('\n'),
  'mail html': (root) =>
    (/<body[^>]*>(.*)<\/body>/s.exec(renderMail(root).html)?.[1] ?? '').replace(/ style="[^"]*"/g, ''),
  'mail text': (root) => renderMail(root).text,
  note: (root) =>
    renderNoteThread(root)
      .map(({ html }) => html)
      .join('\n'),
  markdown: (root) => renderMarkdown(root, 10_000).join('\n'),
  plain: (root) => renderPlain(root, { limit: 4000 }).join('\n'),
} satisfies Record<string, (root: Root) => string>

export type Face = keyof typeof faces
export type Kind = {
  readonly name: string
  readonly about: string
  readonly part: Part
  readonly cells: Readonly<Record<Face, string>>
}

const words = (text: string) => ({
  blocks: `[{"type":"text","text":"${text}"}]`,
  mrkdwn: text,
  'markdown text': text,
  entities: text,
  'mail html': `<p>${text}</p>`,
  'mail text': text,
  note: `<p>${text}</p>`,
  markdown: text,
  plain: text,
})

const bytes = { kind: 'inline', data_base64: 'eA==' } as const

export const kinds: readonly Kind[] = [
  {
    name: 'text/plain',
    about: 'Words as they are; nothing in them is read as markup.',
    part: { kind: 'text', mime: 'text/plain', content: 'Plain *words* & <b>' },
    cells: {
      blocks: '[{"type":"text","text":"Plain *words* & <b>"}]',
      mrkdwn: 'Plain *\u200bwords* &amp; &lt;b&gt;',
      'markdown text': 'Plain \\*words\\* & \\<b>',
      entities: 'Plain *words* & <b>',
      'mail html': '<p>Plain *words* &amp; &lt;b&gt;</p>',
      'mail text': 'Plain *words* & <b>',
      note: '<p>Plain *words* &amp; &lt;b&gt;</p>',
      markdown: 'Plain \\*words\\* & \\<b>',
      plain: 'Plain *words* & <b>',
    },
  },
  {
    name: 'text/markdown',
    about: 'Read once, written in what the face has.',
    part: { kind: 'text', mime: 'text/markdown', content: '**Bold** and a [link](https://e.example/)' },
    cells: {
      blocks:
        '[{"type":"text","text":"Bold","style":{"bold":true}},{"type":"text","text":" and a "},{"type":"link","text":"link","url":"https://e.example/"}]',
      mrkdwn: '*Bold* and a <https://e.example/|link>',
      'markdown text': '**Bold** and a [link](https://e.example/)',
      entities:
        'Bold and a link {"type":"bold","offset":0,"length":4} {"type":"text_link","offset":11,"length":4,"url":"https://e.example/"}',
      'mail html': '<p><strong>Bold</strong> and a <a href="https://e.example/" rel="noopener noreferrer">link</a></p>',
      'mail text': '*Bold* and a link [1]\n\n[1] https://e.example/',
      note: '<p><strong>Bold</strong> and a <a href="https://e.example/" rel="nofollow noopener noreferrer" target="_blank">link</a></p>',
      markdown: '**Bold** and a [link](https://e.example/)',
      plain: 'Bold and a link (https://e.example/)',
    },
  },
  {
    name: 'text/html',
    about: 'Its words; no tag of it reaches the reader.',
    part: { kind: 'text', mime: 'text/html', content: '<p onclick="run()">Some <b>words</b></p>' },
    cells: words('Some words'),
  },
  {
    name: 'file',
    about: 'Its name and size, unless the channel sends the file itself.',
    part: { kind: 'file', name: 'report.pdf', size: 12_345, bytes_ref: bytes },
    cells: words('[file: report.pdf, 12 KB]'),
  },
  {
    name: 'link',
    about: 'Its title leads to its address; nothing is fetched.',
    part: { kind: 'link', url: 'https://e.example/docs', title: 'The docs' },
    cells: {
      blocks: '[{"type":"link","text":"The docs","url":"https://e.example/docs"}]',
      mrkdwn: '<https://e.example/docs|The docs>',
      'markdown text': '[The docs](https://e.example/docs)',
      entities: 'The docs {"type":"text_link","offset":0,"length":8,"url":"https://e.example/docs"}',
      'mail html': '<p><a href="https://e.example/docs" rel="noopener noreferrer">The docs</a></p>',
      'mail text': 'The docs [1]\n\n[1] https://e.example/docs',
      note: '<p><a href="https://e.example/docs" rel="nofollow noopener noreferrer" target="_blank">The docs</a></p>',
      markdown: '[The docs](https://e.example/docs)',
      plain: 'The docs (https://e.example/docs)',
    },
  },
  {
    name: 'link with a description',
    about: 'The description stands behind it, on one line.',
    part: { kind: 'link', url: 'https://e.example/docs', title: 'The docs', description: 'How to\n begin.' },
    cells: {
      blocks:
        '[{"type":"link","text":"The docs","url":"https://e.example/docs"},{"type":"text","text":" – How to begin."}]',
      mrkdwn: '<https://e.example/docs|The docs> – How to begin.',
      'markdown text': '[The docs](https://e.example/docs) – How to begin.',
      entities: 'The docs – How to begin. {"type":"text_link","offset":0,"length":8,"url":"https://e.example/docs"}',
      'mail html': '<p><a href="https://e.example/docs" rel="noopener noreferrer">The docs</a> – How to begin.</p>',
      'mail text': 'The docs [1] – How to begin.\n\n[1] https://e.example/docs',
      note: '<p><a href="https://e.example/docs" rel="nofollow noopener noreferrer" target="_blank">The docs</a> – How to begin.</p>',
      markdown: '[The docs](https://e.example/docs) – How to begin.',
      plain: 'The docs (https://e.example/docs) – How to begin.',
    },
  },
  {
    name: 'artifact',
    about: 'Its name and its type, unless the channel sends the bytes themselves.',
    part: { kind: 'artifact', name: 'chart.json', artifact_type: 'chart', bytes_ref: bytes },
    cells: words('[artifact: chart.json, chart]'),
  },
  {
    name: 'tool_call',
    about: 'Internal, so it leaves no trace. A reply of nothing else says that it is done.',
    part: { kind: 'tool_call', id: 'c1', name: 'search', args: { q: 'secret' }, result: 'found' },
    cells: words('Done.'),
  },
  {
    name: 'policy',
    about:
      'What it asks and where to go, if that is https; as blocks a button, whose value is the id of the state and no more.',
    part: {
      kind: 'policy',
      policy: {
        kind: 'payment_required',
        message: 'Please pay first.',
        url: 'https://agent.example/pay',
        action_label: 'Pay',
        state: 'st_1',
      },
    },
    cells: {
      blocks:
        '[{"type":"section","text":{"type":"mrkdwn","text":"Please pay first.","verbatim":true},"accessory":{"type":"button","action_id":"policy","text":{"type":"plain_text","text":"Pay","emoji":false},"url":"https://agent.example/pay","value":"st_1"}}]',
      mrkdwn: 'Please pay first.\n\n<https://agent.example/pay|Pay>',
      'markdown text': 'Please pay first.\n\n[Pay](https://agent.example/pay)',
      entities:
        'Please pay first.\n\nPay {"type":"text_link","offset":19,"length":3,"url":"https://agent.example/pay"}',
      'mail html':
        '<p>Please pay first.</p><p><a href="https://agent.example/pay" rel="noopener noreferrer">Pay</a></p>',
      'mail text': 'Please pay first.\n\nPay [1]\n\n[1] https://agent.example/pay',
      note: '<p>Please pay first.</p><p><a href="https://agent.example/pay" rel="nofollow noopener noreferrer" target="_blank">Pay</a></p>',
      markdown: 'Please pay first.\n\n[Pay](https://agent.example/pay)',
      plain: 'Please pay first.\n\nPay (https://agent.example/pay)',
    },
  },
  {
    name: 'a kind from the future',
    about: 'Its name, so that readers see that something came.',
    part: { kind: 'hologram', depth: 3 },
    cells: words('[unsupported content: hologram]'),
  },
]

export function shownOn(face: Face, part: Part): string {
  if (face === 'blocks' && part.kind === 'policy' && 'policy' in part) {
    return JSON.stringify(policyBlocks(part.policy as Parameters<typeof policyBlocks>[0]))
  }
  const reply: NormalizedResponse = { thread_id: 't', in_reply_to: 'm', agent: 'a', parts: [part], status: 'completed' }
  return faces[face](replyTree(reply))
}

/** The elements of the one paragraph; what is around it is the same in every cell. */
function shownBlocks(blocks: readonly Json[]): string {
  const inner = /^\[\{"type":"rich_text","elements":\[\{"type":"rich_text_section","elements":(.*)\}\]\}\]$/.exec(
    JSON.stringify(blocks),
  )
  return inner?.[1] ?? JSON.stringify(blocks)
}

/** The cells as docs/rendering.md shows them: zero-width spaces and line ends made visible. */
export function documentedCells(): string {
  const width = Math.max(...Object.keys(faces).map((face) => face.length))
  const visible = (text: string) => text.replaceAll('\u200b', '␣').replaceAll('\n', '⏎')
  return kinds
    .map(({ name, about, cells }) => {
      const lines = Object.entries(cells).map(([face, text]) => `${face.padEnd(width)}  ${visible(text)}`)
      return `### ${name}\n\n${about}\n\n\`\`\`text\n${lines.join('\n')}\n\`\`\`\n`
    })
    .join('\n')
}
