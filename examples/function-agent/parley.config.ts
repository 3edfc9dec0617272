// An agent that is a function. Run it with: npm run build && node bin/parley.js start --config examples/function-agent/parley.config.ts
import { defineAgent, defineConfig, textOf } from 'parley-gateway'

const greeter = defineAgent({
  slug: 'greeter',
  async run(message, context) {
    // Whatever touches the world goes into a step: it happens once, also when the process dies in the middle.
    const at = await context.step('look at the clock', async () => new Date().toISOString())
    return `Hello ${context.principal}, it is ${at}. You said: ${textOf(message.parts)}`
  },
})

export default defineConfig({ agents: [greeter] })
