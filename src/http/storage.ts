// GET /storage/v1/object/sign/{bucket}/{path}?token=…: the bytes behind one of our handles, under headers that make them inert.
import type { Hono } from 'hono'
import { serveFile } from '../files/serve-file.ts'
import type { AppDeps } from './deps.ts'
import { fileRefusedAnswer, toResponse } from './status.ts'

type Deps = Pick<AppDeps, 'files' | 'rawUrlOf'>

export function addStorageRoutes(app: Hono, deps: Deps): void {
  app.get('/storage/v1/object/sign/*', async (context) => {
    // Not the path as the router decoded it: whether it was resolved or escaped is part of what is judged.
    const redeemed = await deps.files.desk.redeem(deps.rawUrlOf?.(context) ?? context.req.url)
    if (redeemed.kind === 'refused') return toResponse(fileRefusedAnswer(redeemed, deps.files.desk.maxBytes))
    return serveFile(deps.files.desk, context.req.raw, redeemed.descriptor)
  })
}
