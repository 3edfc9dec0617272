// The demo agent: needs no key, answers with what it received and how it knows, so that every path can be seen.
import type { NormalizedMessage } from '../contract/index.ts'
import { textOf } from '../contract/index.ts'
import { type Agent, type AgentContext, type AgentReply, defineAgent } from './agent.ts'

const help = [
  'I am the demo agent. Write anything and I explain what reached me. I also know:',
  '/dice - rolls a die in a journaled step: the same message never rolls twice',
  '/remind <seconds> <text> - wakes this conversation later',
  '/new - starts a fresh session (also: /reset)',
  '/fail - fails on purpose, to show the apology',
].join('\n')

export const demoAgent: Agent = defineAgent({
  slug: 'demo',
  label: 'Demo agent',
  description: 'Echoes and explains what it received.',
  run: (message, context) => answer(message, context),
  onSignal: (signal) => `Reminder: ${String(signal.payload['text'] ?? '')}`,
})

async function answer(message: NormalizedMessage, context: AgentContext): Promise<AgentReply> {
  const text = textOf(message.parts).trim()
  const [word = '', ...rest] = text.split(/\s+/)
  switch (word.toLowerCase().split('@')[0]) {
    case '/start':
    case '/help':
      return help
    case '/dice':
      return `You rolled ${await context.step('dice', async () => 1 + ((crypto.getRandomValues(new Uint8Array(1))[0] ?? 0) % 6))}.`
    case '/remind':
      return remind(context, rest)
    case '/fail':
      throw new Error('asked to fail')
    default:
      return explain(message, context, text)
  }
}

function remind(context: AgentContext, [seconds = '', ...words]: readonly string[]): string {
  const delay = Number(seconds)
  if (!(delay > 0 && delay <= 86_400)) return 'Use: /remind <seconds, up to 86400> <text>'
  context.schedule('reminder', delay * 1000, { text: words.join(' ').slice(0, 1000) })
  return `I will remind you in ${delay} s.`
}

function explain(message: NormalizedMessage, context: AgentContext, text: string): string {
  const evidence = context.evidence.map((item) => `${item.subject} (${item.assurance}, ${item.method})`).join(', ')
  const kinds = message.parts.map((part) => part.kind).join(', ')
  const merged =
    context.members.length > 1 ? ` It joins ${context.members.length} messages that came while I was busy.` : ''
  return [
    `You said: ${text === '' ? '(no text)' : text}`,
    `From ${message.sender.address}, known by: ${evidence === '' ? 'nothing' : evidence}.`,
    `Parts: ${kinds}. Mentions are relayed: ${message.recipient_capabilities.mention_relay.kind}.`,
    `This is turn ${Math.floor(context.history.length / 2) + 1} of our session.${merged}`,
  ].join('\n')
}
