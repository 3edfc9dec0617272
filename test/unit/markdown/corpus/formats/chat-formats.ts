// Blocks, the platform's old markup, and its Markdown field.
import { type BlocksMessage, renderBlocks } from '../../../../../adapters/slack/render/blocks.ts'
import { renderMarkdownText, renderMrkdwn } from '../../../../../adapters/slack/render/mrkdwn.ts'
import { nodesIn, refusals, wordsIn } from '../../../adapters/slack/render/acceptable-blocks.ts'
import { readMarkdown } from './markdown-formats.ts'
import { faceOf, type Shown, sizeProblems } from './shown.ts'

const mrkdwnLimit = 3_000
const markdownTextLimit = 12_000

export const blocks = faceOf((root) => renderBlocks(root), blocksShown)
export const mrkdwn = faceOf((root) => renderMrkdwn(root, mrkdwnLimit), mrkdwnShown)
export const markdownText = faceOf((root) => renderMarkdownText(root), markdownTextShown)

function blocksShown(messages: readonly BlocksMessage[]): Shown {
  const nodes = nodesIn(messages.flatMap((message) => message.blocks))
  const calling = nodes.filter((node) => /^(?:user|usergroup|broadcast|channel)$/.test(String(node['type'])))
  return {
    visible: messages.map((message) => wordsIn(message.blocks)).join(''),
    targets: nodes.flatMap((node) => (typeof node['url'] === 'string' ? [node['url']] : [])),
    refused: messages.flatMap(refusals),
    live: [...calling.map((node) => JSON.stringify(node)), ...messages.flatMap(({ text }) => liveTokens(text))],
  }
}

function mrkdwnShown(pieces: readonly string[]): Shown {
  const links = pieces.flatMap((piece) =>
    [...piece.matchAll(/<((?:https?|mailto|tel):[^<>|]+)/g)].map(([, url]) => url),
  )
  return {
    visible: pieces.map((piece) => unescaped(piece.replace(/<(?:[^<>|]*\|)?([^<>]*)>/g, '$1'))).join('\n'),
    targets: links.map((url) => unescaped(url ?? '')),
    refused: pieces.flatMap((piece) => sizeProblems(piece.length, mrkdwnLimit, piece)),
    live: pieces.flatMap(liveTokens),
  }
}

/** Only links may stand in angle brackets: everything else there is a call. Names in code and in labels are none. */
function liveTokens(text: string): readonly string[] {
  const tokens = text.match(/<[^>]*>?/g) ?? []
  const names = text.replace(/(`+)[^`]+\1|<[^<>]*>/g, '').match(/(?<![\w.%+-])@(?:channel|here|everyone)\b/gi) ?? []
  return [...tokens.filter((token) => !/^<(?:https?|mailto|tel):[^<>|]+(?:\|[^<>|]+)?>$/.test(token)), ...names]
}

/** With the look-alikes that stand for what the markup cannot show. */
function unescaped(text: string): string {
  return text
    .replaceAll('ˋ', '`')
    .replaceAll('¦', '|')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
}

/** Its tokens may be looked for before the Markdown is read, also in code. */
function markdownTextShown(pieces: readonly string[]): Shown {
  const tokens =
    /<(?:!(?:channel|here|everyone|group|subteam|date)|[@#][A-Z0-9])|(?<![\w.%+-])@(?:channel|here|everyone)\b/gi
  return { ...readMarkdown(pieces, markdownTextLimit), live: pieces.flatMap((piece) => piece.match(tokens) ?? []) }
}
