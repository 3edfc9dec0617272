// The only file in src that names adapters. A new channel is one folder and one line here.
import { a2aChannel } from '../adapters/a2a/index.ts'
import { activityPubCommands } from '../adapters/activitypub/doctor/commands.ts'
import { activitypubChannel } from '../adapters/activitypub/index.ts'
import { aguiChannel } from '../adapters/agui/index.ts'
import { emailChannel, hostedEmailChannel } from '../adapters/email/index.ts'
import { emailCommands } from '../adapters/email/setup/commands.ts'
import { slackChannel } from '../adapters/slack/index.ts'
import { slackCommands } from '../adapters/slack/setup.ts'
import { telegramChannel } from '../adapters/telegram/index.ts'
import { telegramCommands } from '../adapters/telegram/setup.ts'
import type { ChannelCommands, ChannelDefinition } from './contract/index.ts'

export { type A2aAgentOptions, type A2aOptions, a2a, a2aAgent } from '../adapters/a2a/index.ts'
export { type ActivityPubOptions, activitypub } from '../adapters/activitypub/index.ts'
export { type EmailOptions, email } from '../adapters/email/index.ts'
export { type SlackOptions, slack } from '../adapters/slack/index.ts'
export { type TelegramOptions, telegram } from '../adapters/telegram/index.ts'

export const channels: readonly ChannelDefinition[] = [
  aguiChannel,
  a2aChannel,
  slackChannel,
  telegramChannel,
  emailChannel,
  activitypubChannel,
]

/** Without channels that answer the gateway's own machine only, and refused by name where there is none. A literal, so that what
 * imports `slack()` alone leaves the adapters out of its bundle. */
export const publicChannels: readonly ChannelDefinition[] = [
  a2aChannel,
  slackChannel,
  telegramChannel,
  hostedEmailChannel,
  activitypubChannel,
]

/** What channels add to the command line. */
export const channelCommands: readonly ChannelCommands[] = [
  emailCommands,
  slackCommands,
  telegramCommands,
  activityPubCommands,
]
