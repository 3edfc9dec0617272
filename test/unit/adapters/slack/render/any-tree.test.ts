// Any tree becomes messages that the platform takes, with every word, and nobody is called.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { renderBlocks } from '../../../../../adapters/slack/render/blocks.ts'
import { renderMarkdownText, renderMrkdwn } from '../../../../../adapters/slack/render/mrkdwn.ts'
import { anyTree, lostWords } from '../../../markdown/tree-arbitrary.ts'
import { nodesIn, refusals, wordsIn } from './acceptable-blocks.ts'

const numRuns = 60

test('blocks are within every limit, keep every word and call nobody', () => {
  fc.assert(
    fc.property(anyTree, (root) => {
      const messages = renderBlocks(root)
      expect(messages.flatMap(refusals)).toEqual([])
      expect(lostWords(root, messages.map(({ blocks }) => wordsIn(blocks)).join(' '))).toEqual([])
      const live = nodesIn(messages.flatMap(({ blocks }) => blocks)).filter(
        ({ type }) => type === 'user' || type === 'broadcast',
      )
      expect(live).toEqual([])
    }),
    { numRuns },
  )
})

test('the old markup is within its limit, keeps every word and holds no token that is not ours', () => {
  fc.assert(
    fc.property(anyTree, fc.constantFrom(900, 3000), (root, limit) => {
      const pieces = renderMrkdwn(root, limit)
      for (const piece of pieces) {
        expect(piece.length).toBeLessThanOrEqual(limit)
        expect(piece.trim()).not.toBe('')
        const tokens = piece.match(/<[^>]*>?/g) ?? []
        expect(tokens.filter((token) => !/^<(?:https?|mailto|tel):[^<>|]+(?:\|[^<>|]+)?>$/.test(token))).toEqual([])
      }
      expect(lostWords(root, pieces.join('\n'))).toEqual([])
    }),
    { numRuns },
  )
})

test('the Markdown field is within its limit, keeps every word and holds no live token', () => {
  fc.assert(
    fc.property(anyTree, fc.constantFrom(900, 12_000), (root, limit) => {
      const pieces = renderMarkdownText(root, limit)
      for (const piece of pieces) {
        expect(piece.length).toBeLessThanOrEqual(limit)
        expect(piece).not.toMatch(/<[!@#]|(?<![A-Za-z0-9])@(?:channel|here|everyone)\b/i)
      }
      expect(lostWords(root, pieces.join('\n'))).toEqual([])
    }),
    { numRuns },
  )
})

test('the same tree gives the same messages', () => {
  fc.assert(
    fc.property(anyTree, (root) => {
      expect(renderBlocks(structuredClone(root))).toEqual(renderBlocks(root))
    }),
    { numRuns: 20 },
  )
})
