// Text with ranges, through the channel itself: what it keeps from becoming live is its own knowledge.

import { renderTelegram } from '../../../../../adapters/telegram/render/render.ts'
import type { NormalizedResponse } from '../../../../../src/contract/index.ts'
import { telegramSay } from '../../../../doubles/say.ts'
import { type Ranged, rangeProblems } from '../ranges.ts'
import { type Face, type Shown, sizeProblems } from './shown.ts'

const limits = { units: 4_096, bytes: 32_768, ranges: 100 }

export const entities: Face = {
  render: (markdown) => rangedPieces(markdown),
  show: (markdown) => entitiesShown(rangedPieces(markdown)),
}

function entitiesShown(pieces: readonly Ranged[]): Shown {
  return {
    visible: pieces.map(({ text }) => text).join('\n'),
    targets: pieces.flatMap((piece) => piece.entities.flatMap(({ url }) => (url === undefined ? [] : [url]))),
    refused: pieces.flatMap((piece) => [
      ...sizeProblems(piece.text.length, limits.units, piece.text),
      ...(new TextEncoder().encode(piece.text).length > limits.bytes ? ['too many bytes'] : []),
      ...(piece.entities.length > limits.ranges ? [`${piece.entities.length} ranges`] : []),
      ...rangeProblems(piece),
    ]),
    live: pieces.flatMap(callsIn),
  }
}

export function rangedPieces(markdown: string, mayNotify?: ReadonlySet<string>): readonly Ranged[] {
  const reply: NormalizedResponse = {
    status: 'completed',
    thread_id: 't',
    in_reply_to: 'm',
    agent: '@demo@parley.localhost',
    parts: [{ kind: 'text', mime: 'text/markdown', content: markdown }],
  }
  // What the channel sends is the platform's JSON, which has ranges of this shape.
  return renderTelegram(telegramSay, reply, { chat_id: '1' }, mayNotify).map(({ call }) => {
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
