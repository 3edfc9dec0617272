// A gateway with a channel of its own. Its settings come from DISCORD_… variables.
import { defineAgent, defineConfig, textOf, textPart } from 'parley-gateway'
import { discordChannel } from './adapter/index.ts'

const echo = defineAgent({
  slug: 'echo',
  // A text alone would be said as it is written, signs and all.
  run: (message) => ({ parts: [textPart(`**You said:** ${textOf(message.parts)}`, 'text/markdown')] }),
})

export default defineConfig({ agents: [echo], channels: [discordChannel] })
