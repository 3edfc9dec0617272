// GET /admin/explain/{id}: the whole life of one message, as facts and as a timeline.
import type { Hono } from 'hono'
import { GatewayError } from '../contract/index.ts'
import { withoutErrorTexts } from '../operator/explain.ts'
import { getAdmittedCaller } from './admin-token.ts'
import type { AppDeps } from './deps.ts'

const unknownIdRemedy =
  'nothing here goes by that id; give an inbox, turn or outbox id, a message id, the platform id (conversation:message), ' +
  'a delivery id or the id the platform gave to a reply'

export function addExplainRoute(app: Hono, { explain }: Pick<AppDeps, 'explain'>): void {
  app.get('/admin/explain/:id', async (context) => {
    const explained = await explain(context.req.param('id'), context.req.query('connection'))
    switch (explained.kind) {
      case 'explained': {
        const caller = getAdmittedCaller(context)
        const seesTexts = caller.kind === 'operator' && caller.mayChange
        const { explanation } = explained
        return context.json({ explanation: seesTexts ? explanation : withoutErrorTexts(explanation) })
      }
      case 'ambiguous':
        return context.json({ candidates: explained.candidates })
      case 'unknown':
        throw new GatewayError('not_found', unknownIdRemedy)
    }
  })
}
