// The agent that the protocol's own kit of 0.3 wants to meet: every task works for a while, and then asks back.
// How to run the kit against it: docs/a2a.md.
import { a2a, defineAgent, defineConfig } from '../../../src/index.ts'

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

const agent = defineAgent({
  slug: 'kit',
  label: 'Kit agent',
  description: 'Asks back whatever it is told.',
  async run(message, context) {
    await Promise.race([
      pause(message.id.startsWith('test-resubscribe-message-id') ? 8_000 : 2_000),
      new Promise((_, reject) => context.stop.addEventListener('abort', () => reject(context.stop.reason))),
    ])
    return { status: 'input_required', parts: [{ kind: 'text', mime: 'text/plain', content: 'What else?' }] }
  },
})

// The kit gives one id to many messages, and does not want to wait for a task to rest.
export default defineConfig({
  agents: [agent],
  connections: [
    a2a({ anonymous: true, messageIds: 'loose', legacyBlocking: false, push: { allow: ['127.0.0.1', 'localhost'] } }),
  ],
})
