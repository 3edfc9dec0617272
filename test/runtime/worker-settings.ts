// Settings of the gateway under test, the same on Node and in workerd.

export const webhookSecret = 'a-webhook-secret-for-both-runtimes-000'
export const botToken = '7000001:AAE-test-token-of-the-double-000000000'

export function telegramVariables(apiRoot: string): Record<string, string> {
  return {
    TELEGRAM_BOT_TOKEN: botToken,
    TELEGRAM_WEBHOOK_SECRET: webhookSecret,
    TELEGRAM_API_ROOT: apiRoot,
    TELEGRAM_ALLOW: '*',
  }
}

/** As in wrangler.toml, with less patience. */
export const workerQueues = {
  'parley-wake': {
    maxBatchSize: 10,
    maxBatchTimeout: 0,
    maxRetries: 2,
    retryDelay: 1,
    deadLetterQueue: 'parley-wake-dead',
  },
  'parley-wake-dead': { maxBatchSize: 100, maxBatchTimeout: 0 },
}
