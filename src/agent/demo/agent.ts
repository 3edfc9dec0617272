// The demo agent: needs no key, answers with what it received and how it knows, so that every path can be seen.
import { isKnownPart, type NormalizedMessage, textOf, textPart } from '../../contract/index.ts'
import { toHex } from '../../lib/index.ts'
import { type Agent, type AgentContext, type AgentReply, defineAgent } from '../agent.ts'
import { demoModel, parseDemoCommand } from './model.ts'
import { dice, order } from './tools.ts'

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
      return sendFile(rest)
    case '/fail':
      throw new Error('asked to fail')
    default:
      return explainTrust(message, context, text)
  }
}

function setDemoReminder(context: AgentContext, [seconds = '', ...words]: readonly string[]): string {
  const delay = Number(seconds)
  if (!(delay > 0 && delay <= 86_400)) return 'Use: /remind <seconds, up to 86400> <text>'
  context.schedule('reminder', delay * 1000, { text: words.join(' ').slice(0, 1000) })
  return `I will remind you in ${delay} s.`
}

function sendFile(text: string): AgentReply {
  if (text === '') return 'Use: /file <text>'
  const bytes = new TextEncoder().encode(`${text.slice(0, 4000)}\n`)
  const data_base64 = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
  const bytes_ref = { kind: 'inline', data_base64 } as const
  return { parts: [textPart('Here it is.'), { kind: 'file', bytes_ref, mime: 'text/plain', name: 'demo.txt' }] }
}

/** What the sender attached, read byte by byte: so that it can be compared with what they have. */
async function describeFiles({ parts }: NormalizedMessage, { attachments }: AgentContext): Promise<readonly string[]> {
  const lines: string[] = []
  for (const part of parts) {
    if (!isKnownPart(part) || part.kind !== 'file' || part.attachment === undefined) continue
    const bytes = await attachments.bytes(part.attachment.id, maxFileBytes)
    const digest = bytes === undefined ? '' : toHex(await sha256(bytes)).slice(0, 12)
    lines.push(`File: ${part.name ?? 'without a name'} (${part.mime}, ${part.size} bytes, sha256 ${digest}…).`)
  }
  return lines
}

async function sha256(bytes: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', Uint8Array.from(bytes)))
}

async function explainTrust(message: NormalizedMessage, context: AgentContext, text: string): Promise<string> {
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
