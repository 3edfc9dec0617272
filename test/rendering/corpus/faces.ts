// Every face as a reader and a platform see it: the words that are shown, where links lead, and what would be refused or live.
import { renderTelegram } from '../../../adapters/telegram/render.ts'
import type { NormalizedResponse } from '../../../src/contract/index.ts'
import { parseMarkdown, renderBlocks, renderMail, renderMrkdwn, renderNote } from '../../../src/rendering/index.ts'
import { nodesIn, refusals, wordsIn } from '../blocks/acceptable.ts'
import { readHtml } from '../read-html.ts'
import { type Ranged, rangeProblems } from './ranges.ts'

export type Shown = {
  readonly visible: string
  /** Wherever an address can stand: targets of links and the words themselves. */
  readonly reachable: string
  /** Limits that are exceeded, in the platform's own unit, and structure it would refuse. */
  readonly refused: readonly string[]
  /** Who would be called although nobody allowed it. */
  readonly live: readonly string[]
}

type Face = (markdown: string) => Shown

export const faces: Readonly<Record<string, Face>> = { blocks, mrkdwn, entities, mailHtml, mailText, note }

function blocks(markdown: string): Shown {
  const messages = renderBlocks(parseMarkdown(markdown))
  const nodes = nodesIn(messages.flatMap((message) => message.blocks))
  const calling = nodes.filter((node) => /^(?:user|usergroup|broadcast|channel)$/.test(String(node['type'])))
  return {
    visible: messages.map((message) => wordsIn(message.blocks)).join(''),
    reachable: nodes.map((node) => `${String(node['url'])} ${String(node['text'])}`).join('\n'),
    refused: messages.flatMap(refusals),
    live: [...calling.map((node) => JSON.stringify(node)), ...messages.flatMap(({ text }) => liveTokens(text))],
  }
}

const mrkdwnLimit = 3_000

function mrkdwn(markdown: string): Shown {
  const pieces = renderMrkdwn(parseMarkdown(markdown), mrkdwnLimit)
  const links = pieces.flatMap((piece) =>
    [...piece.matchAll(/<((?:https?|mailto|tel):[^<>|]+)/g)].map(([, url]) => url),
  )
  return {
    visible: pieces.map((piece) => unescaped(piece.replace(/<[^<>|]*\|([^<>]*)>/g, '$1'))).join('\n'),
    reachable: `${links.map((url) => unescaped(url ?? '')).join('\n')}\n${pieces.map(unescaped).join('\n')}`,
    refused: pieces.flatMap((piece) => problemsOf(piece.length, mrkdwnLimit, piece)),
    live: pieces.flatMap(liveTokens),
  }
}

/** Only links may stand in angle brackets: everything else there is a call. */
function liveTokens(text: string): readonly string[] {
  const tokens = text.match(/<[^>]*>?/g) ?? []
  const names = text.replace(/(`+)[^`]+\1/g, '').match(/(?<![\w.%+-])@(?:channel|here|everyone)\b/gi) ?? []
  return [...tokens.filter((token) => !/^<(?:https?|mailto|tel):[^<>|]+(?:\|[^<>|]+)?>$/.test(token)), ...names]
}

function unescaped(text: string): string {
  return text.replaceAll('ˋ', '`').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
}

const entityLimits = { units: 4_096, bytes: 32_768, ranges: 100 }

/** Through the channel itself: what it keeps from becoming live is its own knowledge. */
function entities(markdown: string): Shown {
  const pieces = rangedPieces(markdown)
  return {
    visible: pieces.map(({ text }) => text).join('\n'),
    reachable: pieces.flatMap((piece) => [piece.text, ...piece.entities.map(({ url }) => url ?? '')]).join('\n'),
    refused: pieces.flatMap((piece) => [
      ...problemsOf(piece.text.length, entityLimits.units, piece.text),
      ...(new TextEncoder().encode(piece.text).length > entityLimits.bytes ? ['too many bytes'] : []),
      ...(piece.entities.length > entityLimits.ranges ? [`${piece.entities.length} ranges`] : []),
      ...rangeProblems(piece),
    ]),
    live: pieces.flatMap(callsIn),
  }
}

export function rangedPieces(markdown: string, mayNotify?: ReadonlySet<string>): readonly Ranged[] {
  const reply: NormalizedResponse = {
    ...{ status: 'completed', thread_id: 't', in_reply_to: 'm', agent: '@demo@parley.localhost' },
    parts: [{ kind: 'text', mime: 'text/markdown', content: markdown }],
  }
  // What the channel sends is the platform's JSON, which has ranges of this shape.
  return renderTelegram(reply, { chat_id: '1' }, mayNotify).map(({ call }) => {
    const { text, entities: ranges = [] } = call.payload as {
      readonly text: string
      readonly entities?: Ranged['entities']
    }
    return { text, entities: ranges }
  })
}

function callsIn({ text, entities: ranges }: Ranged): readonly string[] {
  const calls = [...text.matchAll(/(?<![\w/@])@\w{5,32}\b|(?<![\w/<>])\/[A-Za-z]\w*(?![\w/<>])/g)]
  const isCovered = (at: number) =>
    ranges.some(
      ({ type, offset, length }) => /^(?:code|pre|text_link)$/.test(type) && at >= offset && at < offset + length,
    )
  return calls.filter(({ index }) => !isCovered(index)).map(([call]) => call)
}

function mailHtml(markdown: string): Shown {
  const { html } = renderMail(parseMarkdown(markdown))
  const { text, links, repaired, used } = readHtml(html)
  const active = [...used].filter((each) =>
    /^(?:script|style|iframe|img|svg|object|form|base)\b|@(?:on|src|srcset|class$)/.test(each),
  )
  return { visible: text, reachable: `${links.join('\n')}\n${text}`, refused: [...repaired, ...active], live: [] }
}

function mailText(markdown: string): Shown {
  const { text } = renderMail(parseMarkdown(markdown))
  const lines = text.split('\n')
  return {
    visible: text,
    reachable: text,
    refused: lines.filter((line) => /\r|^From |[ \t]$/.test(line)),
    live: [],
  }
}

const noteLimit = 500

function note(markdown: string): Shown {
  const notes = renderNote(parseMarkdown(markdown), { limit: noteLimit })
  const read = notes.map(({ html }) => readHtml(html))
  const text = read.map((each) => each.text).join('\n')
  return {
    visible: text,
    reachable: `${read.flatMap(({ links }) => links).join('\n')}\n${text}`,
    refused: [
      ...read.flatMap(({ repaired }) => repaired),
      ...read.flatMap(({ used }) => [...used].filter((each) => !noteTags.has(each))),
      ...notes.flatMap(({ plainLength, html }) => [
        ...problemsOf(plainLength, noteLimit, html),
        ...(new TextEncoder().encode(html).length > 60_000 ? ['too many bytes'] : []),
      ]),
    ],
    live: notes.flatMap(({ html }) => html.match(/class="[^"]*mention[^"]*"/g) ?? []),
  }
}

const noteTags = new Set(
  'p br a a@href a@rel a@target span strong em del code pre blockquote ul ol ol@start li'.split(' '),
)

function problemsOf(size: number, limit: number, text: string): readonly string[] {
  const isBlank = text.trim() === ''
  return [...(size > limit ? [`${size} of ${limit}`] : []), ...(isBlank ? ['blank'] : [])]
}
