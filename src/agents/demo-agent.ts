// The demo agent, with a model and tools of its own: needs no key, answers with what it received and how it knows, so that every
// path can be seen.

import * as z from 'zod'
import type { Envelope } from '../contract/gateway-events.ts'
import { isKnownPart, type NormalizedMessage, textOf, textPart } from '../contract/index.ts'
import { asFields, encodeBase64, sha256Bytes, toHex } from '../lib/index.ts'
import { type Agent, type AgentContext, type AgentReply, defineAgent } from './define-agent.ts'
import type { Model, ModelTurn } from './models/model.ts'
import { defineTool } from './tools/define-tool.ts'
import type { RequestedCall } from './tools/tool.ts'

// The demo model answers a few commands through the same loop, tools and journal as a real one.

const wordPauseMs = 40

const story =
  'Once a message came to a gateway that was about to be switched off. It was written down first, then the lights went ' +
  'out. When they came back, the gateway read its book, found the line without an answer, and answered it: once.'

const demoModel: Model = async ({ messages, onDelta, signal }) => {
  const results = listTrailingResults(messages)
  if (results.length > 0) return answerInOneDelta(results.map(toolResultText).join(' '), onDelta)
  const { word, rest } = parseDemoCommand(lastUserText(messages))
  switch (word) {
    case '/dice':
      return { tool_calls: requestDiceRolls(rest) }
    case '/order':
      return rest === ''
        ? answerInOneDelta('Use: /order <what>', onDelta)
        : { tool_calls: [{ name: order.declaration.name, parameters: { what: rest.slice(0, 200) } }] }
    default:
      return answerWordByWord(story, onDelta, signal)
  }
}

function parseDemoCommand(text: string): { readonly word: string; readonly rest: string } {
  const [, word = '', rest = ''] = /^(\S*)\s*([\s\S]*)$/.exec(text.trim()) ?? []
  return { word: word.toLowerCase().split('@')[0] ?? '', rest: rest.trim() }
}

/** As many dice as were asked for, thrown together; `nth` tells one throw from the next. */
function requestDiceRolls(rest: string): readonly RequestedCall[] {
  const count = Math.min(5, Math.max(1, Number.parseInt(rest, 10) || 1))
  return Array.from({ length: count }, (_, index) => ({
    name: dice.declaration.name,
    parameters: { sides: 6, nth: index + 1 },
  }))
}

function listTrailingResults(messages: readonly Envelope[]): readonly Envelope[] {
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

function answerInOneDelta(content: string, onDelta: ((delta: string) => void) | undefined): ModelTurn {
  onDelta?.(content)
  return { content }
}

/** Word by word, so that a watching client sees it grow. */
async function answerWordByWord(
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
    const cancelPauseOnAbort = (): void => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', cancelPauseOnAbort)
      resolve()
    }, ms)
    signal.addEventListener('abort', cancelPauseOnAbort, { once: true })
    if (signal.aborted) cancelPauseOnAbort()
  })
}

// Neither tool touches anything outside.

const dice = defineTool({
  name: 'demo/dice',
  description: 'Rolls a die.',
  parameters: z.object({ sides: z.int().min(2).max(1000).default(6), nth: z.int().default(1) }),
  execute: ({ sides }) => ({ sides, rolled: 1 + ((crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) % sides) }),
})

/** `preview`: a person agrees first. */
const order = defineTool({
  name: 'demo/order',
  description: 'Orders something, in pretence.',
  parameters: z.object({ what: z.string().min(1).max(200) }),
  action_policy: 'preview',
  approval: { summary: ({ what }) => `order ${what}` },
  idempotent: true,
  execute: ({ what }) => ({ ordered: what }),
})

const help = [
  'I am the demo agent. Write anything and I explain what reached me. I also know:',
  '/dice [how many] - rolls dice with a tool: the same message never rolls twice',
  '/order <what> - asks for your approval, then pretends to order it',
  '/story - tells one word by word, for clients that watch the run',
  '/remind <seconds> <text> - wakes this conversation later',
  '/file <text> - sends it back to you as a small text file; send me files and I say what they are',
  '/fail - fails on purpose, to show the apology',
].join('\n')

const maxFileBytes = 64 * 1024 * 1024

const facts = { slug: 'demo', label: 'Demo agent', description: 'Echoes and explains what it received.' }

/** What it does with tools goes through the loop, as with a real model. */
const loop = defineAgent({ ...facts, model: demoModel, tools: [dice, order], maxTurns: 4 })

export const demoAgent: Agent = defineAgent({
  ...facts,
  help,
  run: answerDemoMessage,
  onSignal: (signal, context) =>
    signal.kind === 'timer' ? `Reminder: ${String(signal.payload['text'] ?? '')}` : loop.onSignal?.(signal, context),
})

async function answerDemoMessage(message: NormalizedMessage, context: AgentContext): Promise<AgentReply> {
  const text = textOf(message.parts).trim()
  const { word, rest } = parseDemoCommand(text)
  switch (word) {
    case '/start':
      return help
    case '/dice':
    case '/order':
    case '/story':
      return loop.run(message, context)
    case '/remind':
      return setDemoReminder(context, rest.split(/\s+/))
    case '/file':
      return createTextFileReply(rest)
    case '/fail':
      throw new Error('asked to fail')
    default:
      return describeReceivedMessage(message, context, text)
  }
}

function setDemoReminder(context: AgentContext, [seconds = '', ...words]: readonly string[]): string {
  const delay = Number(seconds)
  if (!(delay > 0 && delay <= 86_400)) return 'Use: /remind <seconds, up to 86400> <text>'
  context.schedule('reminder', delay * 1000, { text: words.join(' ').slice(0, 1000) })
  return `I will remind you in ${delay} s.`
}

function createTextFileReply(text: string): AgentReply {
  if (text === '') return 'Use: /file <text>'
  const bytes = new TextEncoder().encode(`${text.slice(0, 4000)}\n`)
  const data_base64 = encodeBase64(bytes)
  const bytes_ref = { kind: 'inline', data_base64 } as const
  return { parts: [textPart('Here it is.'), { kind: 'file', bytes_ref, mime: 'text/plain', name: 'demo.txt' }] }
}

/** What the sender attached, read byte by byte: so that it can be compared with what they have. */
async function describeFiles({ parts }: NormalizedMessage, { attachments }: AgentContext): Promise<readonly string[]> {
  const lines: string[] = []
  for (const part of parts) {
    if (!isKnownPart(part) || part.kind !== 'file' || part.attachment === undefined) continue
    const bytes = await attachments.bytes(part.attachment.id, maxFileBytes)
    const digest = bytes === undefined ? '' : toHex(await sha256Bytes(bytes)).slice(0, 12)
    lines.push(`File: ${part.name ?? 'without a name'} (${part.mime}, ${part.size} bytes, sha256 ${digest}…).`)
  }
  return lines
}

async function describeReceivedMessage(
  message: NormalizedMessage,
  context: AgentContext,
  text: string,
): Promise<string> {
  const evidence = context.evidence.map((item) => `${item.subject} (${item.assurance}, ${item.method})`).join(', ')
  const kinds = message.parts.map((part) => part.kind).join(', ')
  const merged =
    context.members.length > 1 ? ` It joins ${context.members.length} messages that came while I was busy.` : ''
  return [
    `You said: ${text === '' ? '(no text)' : text}`,
    `From ${message.sender.address}, known by: ${evidence === '' ? 'nothing' : evidence}.`,
    ...(await describeFiles(message, context)),
    `Parts: ${kinds}. Mentions are relayed: ${message.recipient_capabilities.mention_relay.kind}.`,
    `This is turn ${Math.floor(context.history.length / 2) + 1} of our session.${merged}`,
  ].join('\n')
}
