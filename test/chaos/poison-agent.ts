// The agent of the crash test `poison`: some messages end the process that runs them, each in its own way; the others take their
// time, a step a second, and must not suffer for it.
import { type Agent, type AgentContext, defineAgent, type StepContext } from '../../src/agents/define-agent.ts'
import { type NormalizedMessage, textOf } from '../../src/contract/index.ts'
import { crashes, type Death } from './subject-settings.ts'
import type { EffectBody } from './tool-stub.ts'

export function poisonAgent(toolUrl: string): Agent {
  return defineAgent({
    slug: 'poison',
    async run(_message, context) {
      for (const member of context.members) await obey(toolUrl, member, context)
      return `saw ${context.members.map((member) => member.id).join(' ')}`
    },
  })
}

async function obey(toolUrl: string, member: NormalizedMessage, context: AgentContext): Promise<void> {
  const wish = textOf(member.parts).trim()
  const death = crashes.find((each) => each === wish)
  if (death !== undefined) {
    // Counted outside, before it happens.
    await tell(toolUrl, bodyOf(member, context, `death of ${member.id} ${crypto.randomUUID()}`, ''), fetch)
    await die(death)
  }
  const steps = wish.startsWith('long ') ? Number(wish.slice(5)) : 1
  for (let number = 1; number <= steps; number += 1) {
    const id = steps === 1 ? member.id : `${member.id} ${number}`
    const act = (step: StepContext) => tell(toolUrl, bodyOf(member, context, id, step.key), step.fetch)
    await context.step(`part ${number}`, act, { args: { id: member.id }, idempotent: true })
    if (steps > 1) await new Promise((resolve) => setTimeout(resolve, 1000))
  }
}

async function die(death: Death): Promise<void> {
  switch (death) {
    case 'kill':
      process.kill(process.pid, 'SIGKILL')
      return new Promise(() => {})
    case 'exit':
      return process.exit(0)
    case 'heap': {
      const held: unknown[] = []
      for (;;) held.push(Array.from({ length: 10_000 }, (_, index) => ({ index })))
    }
    case 'spin':
      for (;;) {
        // Never gives way to anything else in its process.
      }
  }
}

function bodyOf(member: NormalizedMessage, context: AgentContext, id: string, key: string): EffectBody {
  return {
    connection: member.channel?.connector_id ?? '',
    conversation: member.channel?.external_conversation_id ?? '',
    id,
    wish: 'keyed',
    key: key === '' ? crypto.randomUUID() : key,
    turn: context.runId,
    attempt: context.attempt,
    pid: process.pid,
    startedAt: Date.now(),
    sender: '',
    evidence: '',
    members: [],
    rowsRead: 0,
    historyLines: 0,
  }
}

async function tell(toolUrl: string, body: EffectBody, send: typeof fetch): Promise<string> {
  const response = await send(`${toolUrl}/effects`, { method: 'POST', body: JSON.stringify(body) })
  return await response.text()
}
