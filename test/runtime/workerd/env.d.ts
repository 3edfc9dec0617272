// Bindings of the Worker under test, as vitest.config.ts sets them up.
import type { RuntimePeers } from '../runtime-peers.ts'

declare global {
  namespace Cloudflare {
    interface GlobalProps {
      readonly mainModule: typeof import('./worker-under-test.ts')
    }
    interface Env {
      readonly HYPERDRIVE: Hyperdrive
      readonly SECOND: Hyperdrive
      readonly MAIL: Hyperdrive
      readonly EMPTY: Hyperdrive
      readonly WAKE: Queue
      readonly ATTACHMENTS: R2Bucket
      readonly SEND_EMAIL: SendEmail
    }
  }
}

declare module 'vitest' {
  export interface ProvidedContext {
    runtime: RuntimePeers
    postgres: { readonly url: string; readonly reason: string }
  }
}
