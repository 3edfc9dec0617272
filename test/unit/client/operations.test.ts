// The methods of the client are operations of the table: the same routes, and their fields in the same place.
import { expect, test } from 'vitest'
import { type AnyOperation, type Resource, servedOperations } from '../../../src/api/resource.ts'
import { resourceTable } from '../../../src/api/resources.ts'
import { shown } from '../../../src/cli/resources.ts'
import { clientRoutes } from '../../../src/client/operations.ts'
import { createClient } from '../../../src/client.ts'

const table: Readonly<Record<string, Resource>> = resourceTable

function routesOf(resource: Resource, name: string): readonly string[] {
  const operation = (resource.operations as Readonly<Record<string, AnyOperation>>)[name]
  return servedOperations(resource)
    .filter((served) => served.name === name)
    .map(({ method, path }) => {
      const fields = operation?.body !== undefined ? ' {}' : operation?.query !== undefined ? ' ?' : ''
      return `${method.toUpperCase()} ${path}${fields}`
    })
}

test('every method of the client is a route of the table', () => {
  for (const [group, methods] of Object.entries(clientRoutes))
    for (const [name, route] of Object.entries(methods)) {
      const resource = table[group]
      if (resource === undefined) throw new Error(`${group} is not in the table`)
      expect(routesOf(resource, name), `${group}.${name}`).toContain(route)
    }
})

test('a method sends the words of its path, its fields and nothing else', async () => {
  const asked: string[] = []
  const client = createClient({
    url: 'http://gateway.test',
    fetch: async (input, init) => {
      asked.push(`${init?.method} ${String(input).replace('http://gateway.test', '')} ${init?.body ?? ''}`)
      return Response.json({})
    },
  })
  await client.pairings.list({ status: 'pending', limit: 2 })
  await client.pairings.reject('BCDF-2345', { block: true })
  await client.grants.revoke('a/b')
  await client.deadLetters.resubmit('1', { anew: 'true' })
  await client.sessions.delete('1', { headers: { 'x-test': '1' } })
  expect(asked).toEqual([
    'GET /admin/pairings?status=pending&limit=2 ',
    'POST /admin/pairings/BCDF-2345/reject {"block":true}',
    'POST /admin/grants/a%2Fb/revoke ',
    'POST /admin/dead-letters/1/resubmit?anew=true ',
    'DELETE /api/v1/agent/sessions/1 ',
  ])
})

/** They take several requests, are answered as a stream, or are for programs alone. */
const composed = new Set([
  'approvals.summary',
  'audit.config',
  'connections.operate',
  'deadLetters.list',
  'deadLetters.listRefused',
  'deadLetters.listIgnored',
  'deadLetters.effects',
  'deadLetters.resubmit',
  'deliveries.retry',
  'deliveries.retryMany',
  'erasure.erase',
  'explanations.explain',
  'replays.replay',
  'runs.events',
  'runs.stop',
  'secrets.rotate',
  'secrets.reseal',
  'toolRequests.abandon',
])

test('every operation for operators has a command, or is part of one that takes several', () => {
  const commanded = new Set(
    Object.values(shown).flatMap(({ commands }) => commands.map(({ operation }) => operation.id)),
  )
  const missing = Object.entries(table).flatMap(([group, resource]) =>
    servedOperations(resource)
      .filter(({ audience, path }) => audience === 'operator' && path.startsWith('/admin/'))
      .filter(({ id, name }) => !commanded.has(id.replace(/^any(?=[A-Z])/, '')) && !composed.has(`${group}.${name}`))
      .map(({ name }) => `${group}.${name}`),
  )
  expect(missing).toEqual([])
})
