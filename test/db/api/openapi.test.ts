// The document about the API says what is so: every route stands in it, everything in it is a route, and it is a valid one.
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { inspectRoutes } from 'hono/dev'
import { expect, test } from 'vitest'
import { aguiChannel } from '../../../adapters/agui/index.ts'
import { type DocumentedOperation, type OpenApi, toOpenApiPath } from '../../../src/api/openapi/document.ts'
import type { SecretService } from '../../../src/api/own-secrets.ts'
import { createTestApp } from '../../doubles/test-app.ts'
import { createTestGateway, loopbackChannels, loopbackConnections } from '../../doubles/test-gateway.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

/** The routes are there where there is such a desk; none of them is called here. */
const notCalled = () => Promise.reject(new Error('not called here'))
const noSecrets: SecretService = { list: notCalled, rotate: notCalled, reseal: notCalled }

describeOnDatabase('the document about the API', (database) => {
  const startApp = () => {
    const connections = [...loopbackConnections('http://127.0.0.1:9'), { channel: 'agui', id: 'demo', settings: {} }]
    const gateway = createTestGateway(database(), { connections }, {}, [...loopbackChannels, aguiChannel])
    return { app: createTestApp(gateway, database(), { secrets: noSecrets }), stop: gateway.stop }
  }
  const documentOf = async (app: ReturnType<typeof createTestApp>): Promise<OpenApi> =>
    (await app.request('http://bot.example/openapi.json')).json()
  const operationsOf = ({ paths }: OpenApi) =>
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation })),
    )

  test('holds every route of the app, and nothing else', async () => {
    const { app, stop } = startApp()
    const names = operationsOf(await documentOf(app)).map(({ name }) => name)
    const routes = inspectRoutes(app).filter(({ isMiddleware }) => !isMiddleware)
    const served = routes.flatMap(({ method, path }) =>
      (method === 'ALL' ? ['GET', 'POST'] : [method]).map((each) => `${each} ${toOpenApiPath(path)}`),
    )
    expect(served.length).toBeGreaterThan(60)
    expect([...new Set(served)].toSorted()).toEqual(names.toSorted())
    stop()
  })

  test('is valid OpenAPI 3.1, names every operation once, and refers to nothing that is not there', async () => {
    const { app, stop } = startApp()
    const document = await documentOf(app)
    // The validator changes what it is given.
    const { valid, errors } = await new Validator({ strict: false }).validate(structuredClone(document))
    expect({ valid, errors }).toEqual({ valid: true, errors: undefined })
    expect(document).toMatchObject({ openapi: '3.1.1', servers: [{ url: 'http://bot.example' }] })
    const ids = operationsOf(document).map(({ operation }) => operation.operationId)
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([])
    const known = JSON.stringify(document).matchAll(/"\$ref":"#\/components\/(\w+)\/(\w+)"/g)
    for (const [, kind, name] of known)
      expect(document.components[kind as keyof OpenApi['components']]).toHaveProperty([name ?? ''])
    stop()
  })

  test('shows examples that fit their schemas', async () => {
    const { app, stop } = startApp()
    const document = await documentOf(app)
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    ajv.addSchema({ ...document, $id: 'openapi' })
    const examples = operationsOf(document).flatMap(({ name, operation }) => examplesIn(operation, name))
    expect(examples.length).toBeGreaterThan(10)
    for (const { name, schema, example } of examples) {
      const absolute = JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"openapi#/components'))
      const fits = ajv.validate(absolute, example)
      expect([name, fits ? [] : ajv.errorsText()]).toEqual([name, []])
    }
    stop()
  })

  test('is a page for people too, which runs nothing and explains every code', async () => {
    const { app, stop } = startApp()
    const response = await app.request('http://bot.example/docs/api')
    const page = await response.text()
    expect(response.headers.get('content-type')).toContain('text/html')
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(page).not.toMatch(/<script|https?:\/\/(?!bot\.example)[^"]*\.(js|css)/)
    for (const { operation } of operationsOf(await documentOf(app))) expect(page).toContain(operation.operationId)
    const { type } = await (await app.request('http://bot.example/nowhere')).json()
    expect(type).toBe('/docs/api#not_found')
    expect(page).toContain('id="not_found"')
    stop()
  })
})

function examplesIn({ requestBody, responses }: DocumentedOperation, name: string) {
  const contents = [requestBody?.content, ...Object.values(responses).map(({ content }) => content)]
  return contents
    .flatMap((content) => Object.values(content ?? {}))
    .filter(({ example }) => example !== undefined)
    .map(({ schema = {}, example }) => ({ name, schema, example }))
}
