// The Telegram channel: what it can do, and its four verbs bound to one bot's settings.
import {
  type Adapter,
  type ConnectionConfig,
  type ConnectionOptions,
  connectionConfig,
  defineAdapter,
  defineChannel,
  parseSettings,
  type SpeakingDeps,
} from '../../src/contract/index.ts'
import { randomHex, secret } from '../../src/lib/index.ts'
import { createBotNameLookup } from './bot-identity.ts'
import {
  botIdFromToken,
  type TelegramSettings,
  telegramFromEnvironment,
  telegramSettingsSchema,
  telegramWebhookUrl,
} from './config.ts'
import { type ChatRateLimits, createBotApi, createChatRateLimit } from './deliver/bot-api.ts'
import { deliverTelegram } from './deliver/deliver.ts'
import { openTelegramFile } from './files.ts'
import { createTelegramLiveUpdates } from './live.ts'
import { normalizeTelegram } from './normalize/normalize.ts'
import { pollTelegram } from './polling.ts'
import { showTelegramPresence } from './presence.ts'
import { renderTelegramWithFiles } from './render/files.ts'
import { renderTelegram } from './render/render.ts'
import { appendLineToTelegramCall } from './render/text.ts'
import { telegramSentences } from './sentences.ts'
import { createTelegramProbe } from './setup.ts'
import { rejectWrongSecretHeader, secretHeader, verifyTelegram } from './verify.ts'
import { maxTextLength, type TelegramCall } from './wire/calls.ts'

// Telegram drops an update 24 hours after its date; the hour more is for clocks and slow tries.
const horizonMs = 25 * 60 * 60 * 1000

export const telegramChannel = /* @__PURE__ */ defineChannel({
  channel: 'telegram',
  sentences: telegramSentences,
  defaultConnectionId: 'default',
  defaultAccess: { mode: 'pairing', allow: [] },
  settingsSchema: telegramSettingsSchema,
  variables: [
    'TELEGRAM_BOT_TOKEN',
    'TELEGRAM_WEBHOOK_SECRET',
    'TELEGRAM_MODE',
    'TELEGRAM_STREAMING',
    'TELEGRAM_RICH_MESSAGES',
    'TELEGRAM_ALLOW',
    'TELEGRAM_REPLY_POLICY',
    'TELEGRAM_API_ROOT',
    'TELEGRAM_BOT_USERNAME',
  ],
  fromEnvironment: telegramFromEnvironment,
  create: (settings, deps) => createTelegram(parseSettings('telegram', telegramSettingsSchema, settings), deps),
})

/** What an operator writes into parley.config.ts for one bot. */
export type TelegramOptions = ConnectionOptions<typeof telegramSettingsSchema>

export function telegram(options: TelegramOptions): ConnectionConfig {
  return connectionConfig('telegram', options)
}

function createTelegram(settings: TelegramSettings, deps: SpeakingDeps<typeof telegramSentences>): Adapter {
  const name = createBotNameLookup(settings, deps)
  const getBotFacts = () => ({ id: botIdFromToken(settings), username: name.known(), streaming: settings.streaming })
  const isStreaming = settings.streaming !== 'off'
  const isPolling = settings.mode === 'polling'
  const ownSecret = isPolling ? randomSecret() : ''
  // What a polling bot fetches carries a secret that only this process knows: nothing else may come in.
  const secrets = isPolling ? [secret(ownSecret)] : settings.webhookSecret
  const render = deps.files === undefined ? renderTelegram : renderTelegramWithFiles
  const pace = createChatRateLimit(deps.now, chooseChatRateLimits(settings))
  const webhook =
    isPolling || deps.publicUrl === undefined ? undefined : telegramWebhookUrl(deps.publicUrl, deps.connection.id)
  return defineAdapter<Uint8Array, TelegramCall>({
    channel: 'telegram',
    ...(isPolling ? {} : { notice: `webhook: ${webhook ?? 'set PARLEY_PUBLIC_URL to where Telegram reaches it'}` }),
    capabilities: {
      maxTextLength,
      // The Bot API has no client id and no way to read a chat back.
      idempotentSend: 'none',
      callTimeoutMs: settings.callTimeoutMs,
      horizonMs,
      limits: settings.limits,
      maxParts: 10,
      wholeReply: 'file' as const,
      receivedVia: 'telegram',
      authMethods: ['telegram-secret-token'],
      mentionRelay: { kind: 'none' },
      coversNames: true,
      isInteractive: true,
      canEdit: true,
      // A tap sends the command without what follows it, so what it is about is part of its name.
      commandForm: { prefix: '/', joint: '_' },
    },
    screenHeaders: (head) => rejectWrongSecretHeader(secrets, head),
    async verify(rawRequest) {
      const result = verifyTelegram(secrets, rawRequest)
      if (result.kind === 'genuine') await name.learn()
      return result
    },
    payloadOf: (rawRequest) => rawRequest.bytes,
    normalize: (payload, rawRequest, connection) => normalizeTelegram(getBotFacts(), payload, rawRequest, connection),
    render: (reply, to, mayNotify, hasLive) => render(deps.say, reply, to, mayNotify, hasLive, settings.richMessages),
    deliver: deliverTelegram(settings, deps, pace),
    withLine: appendLineToTelegramCall,
    openFile: openTelegramFile(settings, deps),
    live: isStreaming ? createTelegramLiveUpdates(settings, deps, pace) : undefined,
    presence: { shows: ['waiting', 'seen'], show: showTelegramPresence(settings, deps, pace) },
    probe: createTelegramProbe({ api: createBotApi(settings, deps), settings, expectedUrl: webhook, now: deps.now }),
    ingress: {
      poll: isPolling ? pollTelegram(settings, { ...deps, headers: { [secretHeader]: ownSecret } }) : undefined,
    },
  })
}

/** Half of what the bot may say is enough for what only grows. */
function chooseChatRateLimits({ limits, groupMessagesPerMinute }: TelegramSettings): ChatRateLimits {
  const { count, perMs } = limits.connection ?? { count: 30, perMs: 1000 }
  const framesPerSecond = Math.max(1, Math.floor((count * 1000) / perMs / 2))
  return { perMinute: groupMessagesPerMinute, framesPerSecond }
}

function randomSecret(): string {
  return randomHex(32)
}
