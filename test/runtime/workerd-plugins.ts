// What makes vitest run a suite inside workerd, with the bindings that the Worker under test reads.
import { cloudflareTest } from '@cloudflare/vitest-pool-workers'
import { bundledMailauth } from './bundled-mailauth.ts'
import { telegramVariables, workerQueues } from './worker-settings.ts'

export function workerdPlugins() {
  return [
    bundledMailauth(),
    cloudflareTest(({ inject }) => {
      const { databaseUrl, secondDatabaseUrl, mailDatabaseUrl, emptyDatabaseUrl, apiRoot } = inject('runtime')
      return {
        main: './test/runtime/workerd/worker-under-test.ts',
        wrangler: { configPath: './wrangler.toml' },
        miniflare: {
          hyperdrives: {
            HYPERDRIVE: databaseUrl,
            SECOND: secondDatabaseUrl,
            MAIL: mailDatabaseUrl,
            EMPTY: emptyDatabaseUrl,
          },
          email: { send_email: [{ name: 'SEND_EMAIL' }] },
          queueConsumers: workerQueues,
          bindings: telegramVariables(apiRoot),
        },
      }
    }),
  ]
}
