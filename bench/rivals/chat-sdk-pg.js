// Chat SDK with its state in PostgreSQL: otherwise the same.
import { createPostgresState } from '@chat-adapter/state-pg'
import { start as startChat } from './chat-sdk.js'

export function start(options) {
  return startChat(options, createPostgresState({ url: options.databaseUrl, logger: silent }))
}

const ignore = () => {}
const silent = { debug: ignore, info: ignore, warn: ignore, error: console.error, child: () => silent }
