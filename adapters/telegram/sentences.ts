// What only the Telegram channel says to people.
import type { SpeakingDeps } from '../../src/contract/index.ts'

export const telegramSentences = {
  'telegram.approve': '✅ Approve',
  'telegram.reject': '❌ Reject',
  'telegram.open_link': 'Open',
  /** Names the one answer that a guest bot gives. */
  'telegram.guest_answer': 'Answer',
  /** Stands above a message that may be there already. */
  'telegram.possibly_repeated': 'Possibly sent before:',
} as const

export type TelegramSay = SpeakingDeps<typeof telegramSentences>['say']
