// An agent that does what the words of a message say, for tests of the ways to see its work.

import type { AgentContext } from '../../src/agents/context.ts'
import { type Agent, defineAgent } from '../../src/agents/define-agent.ts'
import { type AgentReply, type NormalizedMessage, textOf, textPart } from '../../src/contract/index.ts'

export type ObedientAgent = {
  readonly agent: Agent
  /** What it was given, oldest first. */
  readonly heard: readonly NormalizedMessage[]
  /** Lets everybody go who waits. */
  readonly release: () => void
  readonly running: () => number
}

export function createObedientAgent(slug = 'demo'): ObedientAgent {
  const heard: NormalizedMessage[] = []
  let gate = Promise.withResolvers<void>()
  let atOnce = 0
  const run = async (message: NormalizedMessage, context: AgentContext): Promise<AgentReply> => {
    heard.push(message)
    atOnce += 1
    try {
      return await obey(textOf(message.parts).trim(), message, context, () => gate.promise)
    } finally {
      atOnce -= 1
    }
  }
  return {
    agent: defineAgent({ slug, label: `Agent ${slug}`, description: 'Does as it is told.', run }),
    heard,
    running: () => atOnce,
    release() {
      gate.resolve()
      gate = Promise.withResolvers<void>()
    },
  }
}

const json = btoa(JSON.stringify({ key: 'value', count: 42 }))

async function obey(
  text: string,
  message: NormalizedMessage,
  context: AgentContext,
  released: () => Promise<void>,
): Promise<AgentReply> {
  const [word, ...rest] = text.split(' ')
  switch (word) {
    case 'ask':
      return { status: 'input_required', parts: [textPart('Which colour?')] }
    case 'login':
      return { status: 'refused', parts: [{ kind: 'policy', policy: { kind: 'unauthorized', message: 'Log in.' } }] }
    case 'pay': {
      const policy = { kind: 'payment_required', message: 'Pay first.', state: 's1' }
      return { status: 'input_required', parts: [{ kind: 'policy', policy }] }
    }
    case 'refuse':
      return { status: 'refused', parts: [textPart('No.')] }
    case 'throw':
      throw new Error('the password is hunter2')
    case 'direct':
      return { parts: [textPart('Just a message.')], direct: true }
    case 'file':
      return {
        parts: [
          {
            kind: 'file',
            bytes_ref: { kind: 'inline', data_base64: btoa('hello') },
            mime: 'text/plain',
            name: 'o.txt',
          },
        ],
      }
    case 'link': {
      const url = 'https://example.com/output.txt'
      return { parts: [{ kind: 'file', bytes_ref: { kind: 'url', url }, mime: 'text/plain', name: 'output.txt' }] }
    }
    case 'data':
      return {
        parts: [{ kind: 'artifact', bytes_ref: { kind: 'inline', data_base64: json }, mime: 'application/json' }],
      }
    case 'say':
      for (const delta of rest) {
        context.show(`${delta} `)
        await new Promise((resolve) => setTimeout(resolve, 150))
      }
      return { parts: [textPart(`${rest.join(' ')} `)] }
    case 'wait':
      await Promise.race([released(), stopped(context)])
      return 'Done waiting.'
    case 'stubborn':
      await released()
      return 'Too late.'
    default:
      return `${context.agent} heard: ${text} (${message.history?.length ?? 0} before)`
  }
}

function stopped({ stop }: AgentContext): Promise<void> {
  return new Promise((_, reject) => {
    const refuse = (): void => reject(stop.reason)
    if (stop.aborted) refuse()
    else stop.addEventListener('abort', refuse, { once: true })
  })
}
