// A Worker with an agent of your own. Try it: npm run build && npx wrangler dev examples/worker/worker.ts (docs/workers.md)
import { defineAgent, textOf } from 'parley-gateway'
import { createWorker } from 'parley-gateway/worker'

const greeter = defineAgent({
  slug: 'greeter',
  async run(message, context) {
    // Whatever touches the world goes into a step: it happens once, also when the isolate dies in the middle.
    const at = await context.step('look at the clock', async () => new Date().toISOString())
    return `Hello from a Worker, it is ${at}. You said: ${textOf(message.parts)}`
  },
})

export default createWorker({ agents: [greeter] })
