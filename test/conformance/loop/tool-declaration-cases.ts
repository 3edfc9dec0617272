// Declarations, binding, required parameters.

import { normalizeDeclarations } from '../../../src/agents/tools/catalog.ts'
import { readDeclaration } from '../../../src/agents/tools/declaration.ts'
import { fillBoundParameters, modelParametersSchema } from '../../../src/agents/tools/parameters.ts'
import type { Fields } from '../../../src/lib/json-value.ts'
import { declared, prepared } from '../../doubles/tool-call.ts'
import type { Case } from '../conform.ts'

const search = { name: 'host/search', description: 'Searches.' }
const names = (input: unknown) => {
  const { accepted, rejected } = normalizeDeclarations(input)
  return { accepted: [...accepted.keys()], rejected: rejected.map((each) => each.name) }
}
const faultsOf = (input: unknown, form: Parameters<typeof readDeclaration>[1]) => {
  const reading = readDeclaration(input, form)
  return reading.ok ? [] : reading.fields
}
const bound = (fields: Fields, given: Fields, context: Fields) => fillBoundParameters(declared(fields), given, context)
const refusal = (fields: Fields, given: Fields, context: Fields = {}) =>
  prepared(declared(fields), given, context).refusal?.metadata

const tenant = { tenant: { source: 'context', path: 'tenant', authoritative: true } }
const nested = { properties: { tenant: { type: 'integer' }, q: { type: 'string' } }, required: ['tenant', 'q'] }
const cut = { properties: { q: { type: 'string' } }, required: ['q'] }

export const declarationCases: readonly Case[] = [
  {
    id: 'T-01',
    claim: 'a client tool in a request needs a name and an executor only',
    run: () => normalizeDeclarations([{ name: 'client/pick', executor: 'client' }]).accepted.get('client/pick'),
    equals: {
      name: 'client/pick',
      source: 'client',
      description: 'client/pick',
      parameters: {},
      executor: 'client',
      scope: 'run',
      provider_safe_name: 'client__pick',
    },
  },
  {
    id: 'T-01',
    claim: 'the strict client form guesses nothing',
    differs: 'defaults are supplied only where a request is ingested',
    run: () => faultsOf({ name: 'client/pick' }, 'client'),
    equals: ['description', 'executor', 'scope'],
  },
  {
    id: 'T-02',
    claim: 'a server tool keeps its source and runs on the host',
    run: () => {
      const { executor, scope, source } = declared({ name: 'ability/search_posts', source: 'abilities' })
      return { executor, scope, source }
    },
    equals: { executor: 'host', scope: 'run', source: 'abilities' },
  },
  {
    id: 'T-03',
    claim: 'a name without a namespace is rejected and reported',
    differs: 'a tool name needs a namespace',
    run: () => names([{ ...search, name: 'workspace_read' }, search]),
    equals: { accepted: ['host/search'], rejected: ['workspace_read'] },
  },
  {
    id: 'T-04',
    claim: 'the strict client form refuses a host tool',
    run: () => faultsOf({ ...search, executor: 'host', scope: 'run' }, 'client'),
    equals: ['name', 'source', 'executor'],
  },
  {
    id: 'T-04',
    claim: 'the server form refuses the client namespace',
    run: () => faultsOf({ ...search, name: 'client/search' }, 'server'),
    equals: ['source'],
  },
  {
    id: 'T-05',
    claim: 'runtime hints hide secrets and drop what is no JSON',
    run: () =>
      declared({ runtime: { api_key: 'k', obj: new URL('https://x.example'), scope: ['a', { b: 1 }] } }).runtime,
    equals: { api_key: '[redacted]', scope: ['a', { b: 1 }] },
  },
  {
    id: 'T-06',
    claim: 'the one bad declaration of one leaves nothing',
    run: () => names([{ name: 'Bad Name' }]),
    equals: { accepted: [], rejected: ['Bad Name'] },
  },
  {
    id: 'T-06',
    claim: 'one bad declaration of two leaves the good one',
    run: () => names({ 'host/search': { description: 'Searches.' }, 'host/mute': {} }),
    equals: { accepted: ['host/search'], rejected: ['host/mute'] },
  },
  {
    id: 'T-06',
    claim: 'good declarations leave nothing to report',
    run: () => names([search, { name: 'client/pick' }]),
    equals: { accepted: ['host/search', 'client/pick'], rejected: [] },
  },
  {
    id: 'T-07',
    claim: "the model's own value wins over a plain binding",
    run: () =>
      bound(
        { parameter_bindings: { who: 'client_context.sender' } },
        { who: 'bob' },
        { client_context: { sender: 'ada' } },
      ),
    equals: { who: 'bob' },
  },
  {
    id: 'T-08',
    claim: 'a renaming binding fills the new name only',
    run: () => bound({ client_context_bindings: { user_phone: 'sender_id' } }, {}, { sender_id: '+1', thread_id: 't' }),
    equals: { user_phone: '+1' },
  },
  {
    id: 'T-09',
    claim: 'nothing is filled in that is not declared',
    run: () => refusal({ parameters: { required: ['thread_id'] } }, {}, { thread_id: 't', api_key: 'k' }),
    equals: { error_type: 'missing_required_parameters', missing_parameters: ['thread_id'] },
  },
  ...(
    [
      ["the binding's default beats the tool's", {}, {}, 'binding'],
      ['the context beats both defaults', {}, { caller_context: { lang: 'context' } }, 'context'],
      ["the model's word beats all", { lang: 'model' }, { caller_context: { lang: 'context' } }, 'model'],
    ] as const
  ).map(([what, given, context, lang]) => ({
    id: 'T-10',
    claim: what,
    run: () =>
      bound(
        {
          parameter_defaults: { lang: 'top' },
          parameter_bindings: { lang: { source: 'caller_context', path: 'lang', default: 'binding' } },
        },
        given,
        context,
      ),
    equals: { lang },
  })),
  {
    id: 'T-10',
    claim: 'an empty value of the context is no offer',
    run: () =>
      ['', null].map((lang) =>
        bound({ parameter_defaults: { lang: 'top' }, parameter_bindings: { lang: 'context.lang' } }, {}, { lang }),
      ),
    equals: [{ lang: 'top' }, { lang: 'top' }],
  },
  ...[7, 0, false, null].map((value) => ({
    id: 'T-11',
    claim: `an authoritative ${value} beats what the model sent`,
    run: () => bound({ parameter_bindings: tenant }, { tenant: 99 }, { tenant: value }),
    equals: { tenant: value },
  })),
  {
    id: 'T-12',
    claim: 'an authoritative parameter without a value is taken from the model and missed by name',
    run: () => refusal({ parameter_bindings: tenant, parameters: { required: ['tenant'] } }, { tenant: 99 }),
    equals: { error_type: 'missing_required_parameters', missing_parameters: ['tenant'] },
  },
  {
    id: 'T-13',
    claim: 'the model never sees an authoritative parameter, in any alternative',
    run: () =>
      modelParametersSchema(
        declared({
          parameter_bindings: tenant,
          parameters: {
            ...nested,
            type: 'object',
            allOf: [nested],
            anyOf: [{ oneOf: [nested] }],
            oneOf: [{ $ref: '#/$defs/base' }],
            $defs: { base: nested },
          },
        }),
      ),
    equals: {
      ...cut,
      type: 'object',
      allOf: [cut],
      anyOf: [{ oneOf: [cut] }],
      oneOf: [cut],
      $defs: { base: nested },
    },
  },
  {
    id: 'T-14',
    claim: 'a binding with an unknown key spoils the declaration',
    run: () => faultsOf({ ...search, parameter_bindings: { a: { source: 'context', path: 'a', extra: 1 } } }, 'server'),
    equals: ['parameter_bindings'],
  },
  {
    id: 'T-14',
    claim: 'authoritative "yes" spoils the declaration',
    run: () =>
      faultsOf(
        { ...search, parameter_bindings: { a: { source: 'context', path: 'a', authoritative: 'yes' } } },
        'server',
      ),
    equals: ['parameter_bindings'],
  },
  {
    id: 'T-15',
    claim: 'the default of a secret is hidden in the declaration',
    run: () => declared({ parameter_defaults: { api_key: 'k', max_tokens: 5 } }).parameter_defaults,
    equals: { api_key: '[redacted]', max_tokens: 5 },
  },
  {
    id: 'T-15',
    claim: 'a hidden default counts as missing and is never executed',
    differs: 'agents-api executes the literal [redacted]',
    run: () => refusal({ parameters: { required: ['api_key'] }, parameter_defaults: { api_key: 'k' } }, {}),
    equals: { error_type: 'missing_required_parameters', missing_parameters: ['api_key'] },
  },
]
