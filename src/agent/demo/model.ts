// A model that needs no key: it answers a few commands through the same loop, tools and journal as a real one.
import type { Envelope } from '../../contract/index.ts'
import { asFields } from '../fields.ts'
import type { Model, ModelTurn } from '../loop/model.ts'
import type { RequestedCall } from '../tools/tool.ts'
import { dice, order } from './tools.ts'

const wordPauseMs = 40

const story =
  'Once a message came to a gateway that was about to be switched off. It was written down first, then the lights went ' +
  'out. When they came back, the gateway read its book, found the line without an answer, and answered it: once.'

export const demoModel: Model = async ({ messages, onDelta, signal }) => {
  const results = trailingResults(messages)
  if (results.length > 0) return sayAtOnce(results.map(toolResultText).join(' '), onDelta)
  const { word, rest } = parseDemoCommand(lastUserText(messages))
  switch (word) {
    case '/dice':
      return { tool_calls: diceCalls(rest) }
    case '/order':
      return rest === ''
        ? sayAtOnce('Use: /order <what>', onDelta)
        : { tool_calls: [{ name: order.declaration.name, parameters: { what: rest.slice(0, 200) } }] }
    default:
      return sayWordByWord(story, onDelta, signal)
  }
}

export function parseDemoCommand(text: string): { readonly word: string; readonly rest: string } {
  const [, word = '', rest = ''] = /^(\S*)\s*([\s\S]*)$/.exec(text.trim()) ?? []
  return { word: word.toLowerCase().split('@')[0] ?? '', rest: rest.trim() }
}

/** As many dice as were asked for, thrown together; `nth` tells one throw from the next. */
function diceCalls(rest: string): readonly RequestedCall[] {
  const count = Math.min(5, Math.max(1, Number.parseInt(rest, 10) || 1))
  return Array.from({ length: count }, (_, index) => ({
    name: dice.declaration.name,
    parameters: { sides: 6, nth: index + 1 },
  }))
}

function trailingResults(messages: readonly Envelope[]): readonly Envelope[] {
  const end = messages.findLastIndex((line) => line.type !== 'tool_result' && line.type !== 'tool_call')
  return messages.slice(end + 1).filter((line) => line.type === 'tool_result')
}

function lastUserText(messages: readonly Envelope[]): string {
  const last = messages.findLast((line) => line.role === 'user' && line.type !== 'tool_result')
  return typeof last?.content === 'string' ? last.content : ''
}

function toolResultText({ payload }: Envelope): string {
  const { success, result, metadata } = payload
  if (success !== true) return refusals.get(asFields(metadata)['error_type']) ?? 'That did not work.'
  const given = result as { readonly rolled?: number; readonly ordered?: string } | undefined
  if (given?.rolled !== undefined) return `You rolled ${given.rolled}.`
  return `Ordered: ${given?.ordered ?? 'it'}. (A demonstration: nothing was bought.)`
}

const refusals = new Map<unknown, string>([
  ['approval_rejected', 'All right, I did not order it.'],
  ['approval_expired', 'That was not decided in time, so I did not order it. Ask again if you still want it.'],
  ['approval_tampered', 'The order changed after it was approved, so I did not place it.'],
])

function sayAtOnce(content: string, onDelta: ((delta: string) => void) | undefined): ModelTurn {
  onDelta?.(content)
  return { content }
}

/** Word by word, so that a watching client sees it grow. */
async function sayWordByWord(
  text: string,
  onDelta: ((delta: string) => void) | undefined,
  signal: AbortSignal,
): Promise<ModelTurn> {
  for (const word of text.match(/\S+\s*/g) ?? []) {
    onDelta?.(word)
    await pauseBetweenWords(wordPauseMs, signal)
  }
  return { content: text }
}

function pauseBetweenWords(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stopPause = (): void => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stopPause)
      resolve()
    }, ms)
    signal.addEventListener('abort', stopPause, { once: true })
    if (signal.aborted) stopPause()
  })
}
