// `say` as adapters are handed it: the gateway's sentences and those of one channel.
import { emailSentences } from '../../adapters/email/sentences.ts'
import { slackSentences } from '../../adapters/slack/sentences.ts'
import { telegramSentences } from '../../adapters/telegram/sentences.ts'
import { createChannelSay } from '../../src/contract/index.ts'

export const emailSay = createChannelSay(emailSentences)
export const slackSay = createChannelSay(slackSentences)
export const telegramSay = createChannelSay(telegramSentences)
