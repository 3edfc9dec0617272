// The agent that the protocol's own kit of 1.0 wants to meet: it does what the id of a message says.
// How to run the kit against it: docs/a2a.md.
import { type AgentReply, a2a, defineAgent, defineConfig } from '../../../src/index.ts'

const say = (content: string): AgentReply => ({ parts: [{ kind: 'text', mime: 'text/plain', content }] })
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const file = { kind: 'file' as const, mime: 'text/plain', name: 'output.txt' }

/** Longest first: ids go on behind these words. */
const behaviours: readonly (readonly [string, () => AgentReply])[] = [
  [
    'tck-artifact-file-url',
    () => ({ parts: [{ ...file, bytes_ref: { kind: 'url', url: 'https://example.com/output.txt' } }] }),
  ],
  ['tck-artifact-file', () => ({ parts: [{ ...file, bytes_ref: { kind: 'inline', data_base64: btoa('Hello') } }] })],
  [
    'tck-stream-artifact-file',
    () => ({ parts: [{ ...file, bytes_ref: { kind: 'inline', data_base64: btoa('Hello') } }] }),
  ],
  [
    'tck-artifact-data',
    () => {
      const data_base64 = btoa(JSON.stringify({ key: 'value', count: 42 }))
      return { parts: [{ kind: 'artifact', mime: 'application/json', bytes_ref: { kind: 'inline', data_base64 } }] }
    },
  ],
  ['tck-artifact-text', () => say('Generated text content')],
  ['tck-message-response', () => ({ ...Object(say('Direct message response')), direct: true })],
  ['tck-input-required', () => ({ ...Object(say('What else?')), status: 'input_required' })],
  ['tck-reject-task', () => ({ ...Object(say('No.')), status: 'refused' })],
  ['tck-complete-task', () => say('Hello from TCK')],
]

const agent = defineAgent({
  slug: 'kit',
  label: 'Kit agent',
  description: 'Does what the kit asks for.',
  async run(message, context) {
    const known = behaviours.find(([prefix]) => message.id.startsWith(prefix))
    if (known !== undefined) return known[1]()
    if (message.id.startsWith('test-resubscribe-message-id')) await pause(4_000)
    if (message.id.startsWith('tck-stream-artifact-chunked')) {
      context.show('chunk-1 ')
      await pause(200)
      context.show('chunk-2')
      return say('chunk-1 chunk-2')
    }
    return say('Generated text content')
  },
})

/** The kit gives one id to many messages, and pins the first release of 1.0. */
const profile = { anonymous: true, errorTable: '1.0.0', messageIds: 'loose' } as const
const push = { allow: ['127.0.0.1', 'localhost'] }
const skill = { id: 'more', name: 'More', description: 'For those who show a credential.', tags: ['kit'] }

// One server, one address per set of capabilities: tests are gated both ways.
export default defineConfig({
  agents: [agent],
  connections: [
    a2a({ ...profile, push, directMessages: true }),
    a2a({ id: 'bare', path: '/bare', ...profile, streaming: false, push: false }),
    a2a({
      id: 'needy',
      path: '/needy',
      ...profile,
      push,
      requiredExtensions: [{ uri: 'urn:a2a:tck:required-extension' }],
    }),
    a2a({ id: 'extended', path: '/extended', ...profile, push, extendedCard: { skills: [skill] } }),
  ],
})
