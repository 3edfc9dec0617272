// OpenAPI of the admin routes about people, sessions and files.
import * as z from 'zod'
import { tokenBody } from '../credentials.ts'
import { rejectionBody } from '../pairings.ts'
import { eraseBody, grantBody, linkBody, unlinkBody } from '../people.ts'
import { type AdminRoute, doneAnswers, idPage, itemAnswers, listAnswers, rowSchema, rowsSchema } from './operation.ts'

export const peopleRoutes: readonly AdminRoute[] = [
  {
    method: 'get',
    path: '/admin/tokens',
    id: 'listTokens',
    summary: 'Lists tokens, never their secret',
    answers: itemAnswers('tokens', rowsSchema),
  },
  {
    method: 'post',
    path: '/admin/tokens',
    id: 'createToken',
    summary: 'Makes a token; the answer is the only place it is shown',
    body: { ...tokenBody, example: { label: 'shop', scopes: ['run'] } },
    answers: {
      200: { what: 'The token', schema: z.looseObject({ token: z.string(), id: z.string(), prefix: z.string() }) },
    },
  },
  {
    method: 'post',
    path: '/admin/tokens/:id/revoke',
    id: 'revokeToken',
    summary: 'Takes a token back, everywhere at once',
    params: { id: 'Its id, or what it begins with' },
    answers: doneAnswers,
    problems: [404, 409],
  },
  {
    method: 'get',
    path: '/admin/grants',
    id: 'listGrants',
    summary: 'Lists what is written down about people',
    query: idPage.extend({ subject: z.string().optional(), state: z.enum(['active', 'all']).optional() }),
    answers: listAnswers('grants'),
  },
  {
    method: 'post',
    path: '/admin/grants',
    id: 'addGrant',
    summary: 'Lets a person in, or keeps them out',
    body: { ...grantBody, example: { subject: 'chat:42', effect: 'allow' } },
    answers: {
      200: {
        what: 'The grant, and how many messages it decided about',
        schema: z.object({ grant: rowSchema, messages: z.number().int() }),
      },
    },
  },
  {
    method: 'post',
    path: '/admin/grants/:id/revoke',
    id: 'revokeGrant',
    summary: 'Takes a grant back',
    answers: itemAnswers('grant'),
    problems: [404, 409],
  },
  {
    method: 'get',
    path: '/admin/pairings',
    id: 'listPairings',
    summary: 'Lists people who wait to be let in',
    query: idPage.extend({ status: z.enum(['pending', 'approved', 'rejected', 'expired']).optional() }),
    answers: listAnswers('pairings', { groups: rowsSchema }),
  },
  ...(['approve', 'reject'] as const).map(
    (verb): AdminRoute => ({
      method: 'post',
      path: `/admin/pairings/:code/${verb}`,
      id: `${verb}Pairing`,
      summary: verb === 'approve' ? 'Lets a person in by their code' : 'Turns a person away by their code',
      params: { code: 'The code they were given' },
      ...(verb === 'reject' ? { body: { ...rejectionBody, example: { block: true } } } : {}),
      answers: { 200: { what: 'The decision', schema: z.object({ pairing: rowSchema, messages: z.number().int() }) } },
      problems: [404, 409],
    }),
  ),
  {
    method: 'get',
    path: '/admin/principals',
    id: 'listPrincipals',
    summary: 'Lists people',
    query: idPage,
    answers: listAnswers('principals'),
  },
  {
    method: 'get',
    path: '/admin/principals/links',
    id: 'listLinks',
    summary: 'Who acts as whom',
    answers: itemAnswers('links', rowsSchema),
  },
  {
    method: 'post',
    path: '/admin/principals/link',
    id: 'linkPrincipals',
    summary: 'Says that two subjects are one person',
    body: { ...linkBody, example: { subject: 'space:T1/U2', principal: 'chat:42' } },
    answers: { 200: { what: 'The link', schema: z.object({ link: rowSchema, messages: z.number().int() }) } },
    problems: [409],
  },
  {
    method: 'post',
    path: '/admin/principals/unlink',
    id: 'unlinkPrincipal',
    summary: 'Takes that back',
    body: { ...unlinkBody, example: { subject: 'space:T1/U2' } },
    answers: doneAnswers,
    problems: [404],
  },
  {
    method: 'post',
    path: '/admin/erase',
    id: 'erasePerson',
    summary: 'Erases what is known of a person, a piece per request',
    body: { ...eraseBody, example: { principal: 'chat:42', dryRun: true } },
    answers: { 200: { what: 'What was removed, and where to go on', schema: z.looseObject({ isDone: z.boolean() }) } },
  },
]
