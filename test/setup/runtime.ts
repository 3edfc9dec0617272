// What the runtime suites reach over the network: migrated databases, an empty one, a name system, and a Bot API that tells what it got.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestProject } from 'vitest/node'
import { startNamesByJson } from '../doubles/json-dns.ts'
import { mailKey } from '../doubles/signed-mails.ts'
import { startTelegramApi } from '../doubles/telegram-api.ts'
import type { RuntimePeers } from '../runtime/runtime-peers.ts'
import { workerdProblem } from '../runtime/workerd-problem.ts'
import { clonedDatabase } from './cloned-database.ts'
import { createPostgresDatabase } from './postgres-databases.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    runtime: RuntimePeers
  }
}

const nowhere = 'postgres://nobody:nothing@127.0.0.1:9/none'

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { url } = project.getProvidedContext().postgres
  if (url === '' || workerdProblem() !== undefined) {
    const none = {
      databaseUrl: nowhere,
      secondDatabaseUrl: nowhere,
      mailDatabaseUrl: nowhere,
      emptyDatabaseUrl: nowhere,
    }
    project.provide('runtime', { ...none, apiRoot: 'http://127.0.0.1:9', sentUrl: '', namesUrl: '', mailKey: '' })
    return async () => {}
  }
  const database = await clonedDatabase(url)
  const second = await clonedDatabase(url)
  const mail = await clonedDatabase(url)
  const empty = await createPostgresDatabase(url)
  const api = await startTelegramApi()
  const key = mailKey('ed25519')
  const names = await startNamesByJson({ 's1._domainkey.sender.example': key.record })
  const told = createServer((_request, response) => response.end(JSON.stringify(api.sent)))
  await new Promise<void>((resolve) => told.listen(0, '127.0.0.1', resolve))
  project.provide('runtime', {
    databaseUrl: database.url,
    secondDatabaseUrl: second.url,
    mailDatabaseUrl: mail.url,
    emptyDatabaseUrl: empty.url,
    apiRoot: api.apiRoot,
    sentUrl: `http://127.0.0.1:${(told.address() as AddressInfo).port}/`,
    namesUrl: names.url,
    mailKey: key.privateKey,
  })
  return async () => {
    told.closeAllConnections()
    await new Promise((resolve) => told.close(resolve))
    await names.close()
    await api.close()
  }
}
