// What an operator may say of any connection, beside its channel's own settings.
import type { ConnectionConfig } from './channel.ts'

/** `id`: `default` where it is left out. */
export type ConnectionOptions = Partial<Omit<ConnectionConfig, 'channel' | 'settings'>>

/** What is not said of the connection is said of its channel. */
export function connectionConfig(channel: string, options: ConnectionOptions): ConnectionConfig {
  const {
    id = 'default',
    agent,
    access,
    mentionHumans,
    attention,
    consent,
    strangers,
    replyParts,
    ...settings
  } = options
  return {
    channel,
    id,
    ...(agent === undefined ? {} : { agent }),
    ...(access === undefined ? {} : { access }),
    ...(mentionHumans === undefined ? {} : { mentionHumans }),
    ...(attention === undefined ? {} : { attention }),
    ...(consent === undefined ? {} : { consent }),
    ...(strangers === undefined ? {} : { strangers }),
    ...(replyParts === undefined ? {} : { replyParts }),
    settings,
  }
}
