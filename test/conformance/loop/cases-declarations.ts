// loop 4.1 to 4.3: declarations, binding, required parameters.
import { bindParameters } from '../../../src/agent/tools/bind-parameters.ts'
import { normalizeDeclarations } from '../../../src/agent/tools/catalog.ts'
import { readDeclaration } from '../../../src/agent/tools/declaration.ts'
import { modelSchema } from '../../../src/agent/tools/model-schema.ts'
import type { Fields } from '../../../src/contract/index.ts'
import { declared, prepared } from '../../doubles/tool-call.ts'
import type { ConformanceCase, Difference } from './case.ts'

const search = { name: 'host/search', description: 'Searches.' }
const names = (input: unknown) => {
  const { accepted, rejected } = normalizeDeclarations(input)
  return { accepted: [...accepted.keys()], rejected: rejected.map((each) => each.name) }
}
const faultsOf = (input: unknown, form: Parameters<typeof readDeclaration>[1]) => {
  const reading = readDeclaration(input, form)
  return reading.ok ? [] : reading.fields
}
const bound = (fields: Fields, given: Fields, context: Fields) => bindParameters(declared(fields), given, context)
const refusal = (fields: Fields, given: Fields, context: Fields = {}) =>
  prepared(declared(fields), given, context).refusal?.metadata

const tenant = { tenant: { source: 'context', path: 'tenant', authoritative: true } }
const nested = { properties: { tenant: { type: 'integer' }, q: { type: 'string' } }, required: ['tenant', 'q'] }
const cut = { properties: { q: { type: 'string' } }, required: ['q'] }

export const declarationCases: readonly ConformanceCase[] = [
  {
    id: 'T-01',
    what: 'a client tool in a request needs a name and an executor only',
    run: () => normalizeDeclarations([{ name: 'client/pick', executor: 'client' }]).accepted.get('client/pick'),
    expected: {
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
    what: 'the strict client form guesses nothing',
    run: () => faultsOf({ name: 'client/pick' }, 'client'),
    expected: ['description', 'executor', 'scope'],
  },
  {
    id: 'T-02',
    what: 'a server tool keeps its source and runs on the host',
    run: () => {
      const { executor, scope, source } = declared({ name: 'ability/search_posts', source: 'abilities' })
      return { executor, scope, source }
    },
    expected: { executor: 'host', scope: 'run', source: 'abilities' },
  },
  {
    id: 'T-03',
    what: 'a name without a namespace is rejected and reported',
    run: () => names([{ ...search, name: 'workspace_read' }, search]),
    expected: { accepted: ['host/search'], rejected: ['workspace_read'] },
  },
  {
    id: 'T-04',
    what: 'the strict client form refuses a host tool',
    run: () => faultsOf({ ...search, executor: 'host', scope: 'run' }, 'client'),
    expected: ['name', 'source', 'executor'],
  },
  {
    id: 'T-04',
    what: 'the server form refuses the client namespace',
    run: () => faultsOf({ ...search, name: 'client/search' }, 'server'),
    expected: ['source'],
  },
  {
    id: 'T-05',
    what: 'runtime hints hide secrets and drop what is no JSON',
    run: () =>
      declared({ runtime: { api_key: 'k', obj: new URL('https://x.example'), scope: ['a', { b: 1 }] } }).runtime,
    expected: { api_key: '[redacted]', scope: ['a', { b: 1 }] },
  },
  {
    id: 'T-06',
    what: 'the one bad declaration of one leaves nothing',
    run: () => names([{ name: 'Bad Name' }]),
    expected: { accepted: [], rejected: ['Bad Name'] },
  },
  {
    id: 'T-06',
    what: 'one bad declaration of two leaves the good one',
    run: () => names({ 'host/search': { description: 'Searches.' }, 'host/mute': {} }),
    expected: { accepted: ['host/search'], rejected: ['host/mute'] },
  },
  {
    id: 'T-06',
    what: 'good declarations leave nothing to report',
    run: () => names([search, { name: 'client/pick' }]),
    expected: { accepted: ['host/search', 'client/pick'], rejected: [] },
  },
  {
    id: 'T-07',
    what: "the model's own value wins over a plain binding",
    run: () =>
      bound(
        { parameter_bindings: { who: 'client_context.sender' } },
        { who: 'bob' },
        { client_context: { sender: 'ada' } },
      ),
    expected: { who: 'bob' },
  },
  {
    id: 'T-08',
    what: 'a renaming binding fills the new name only',
    run: () => bound({ client_context_bindings: { user_phone: 'sender_id' } }, {}, { sender_id: '+1', thread_id: 't' }),
    expected: { user_phone: '+1' },
  },
  {
    id: 'T-09',
    what: 'nothing is filled in that is not declared',
    run: () => refusal({ parameters: { required: ['thread_id'] } }, {}, { thread_id: 't', api_key: 'k' }),
    expected: { error_type: 'missing_required_parameters', missing_parameters: ['thread_id'] },
  },
  ...(
    [
      ["the binding's default beats the tool's", {}, {}, 'binding'],
      ['the context beats both defaults', {}, { caller_context: { lang: 'context' } }, 'context'],
      ["the model's word beats all", { lang: 'model' }, { caller_context: { lang: 'context' } }, 'model'],
    ] as const
  ).map(([what, given, context, lang]) => ({
    id: 'T-10',
    what,
    run: () =>
      bound(
        {
          parameter_defaults: { lang: 'top' },
          parameter_bindings: { lang: { source: 'caller_context', path: 'lang', default: 'binding' } },
        },
        given,
        context,
      ),
    expected: { lang },
  })),
  {
    id: 'T-10',
    what: 'an empty value of the context is no offer',
    run: () =>
      ['', null].map((lang) =>
        bound({ parameter_defaults: { lang: 'top' }, parameter_bindings: { lang: 'context.lang' } }, {}, { lang }),
      ),
    expected: [{ lang: 'top' }, { lang: 'top' }],
  },
  ...[7, 0, false, null].map((value) => ({
    id: 'T-11',
    what: `an authoritative ${value} beats what the model sent`,
    run: () => bound({ parameter_bindings: tenant }, { tenant: 99 }, { tenant: value }),
    expected: { tenant: value },
  })),
  {
    id: 'T-12',
    what: 'an authoritative parameter without a value is taken from the model and missed by name',
    run: () => refusal({ parameter_bindings: tenant, parameters: { required: ['tenant'] } }, { tenant: 99 }),
    expected: { error_type: 'missing_required_parameters', missing_parameters: ['tenant'] },
  },
  {
    id: 'T-13',
    what: 'the model never sees an authoritative parameter, in any alternative',
    run: () =>
      modelSchema(
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
    expected: {
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
    what: 'a binding with an unknown key spoils the declaration',
    run: () => faultsOf({ ...search, parameter_bindings: { a: { source: 'context', path: 'a', extra: 1 } } }, 'server'),
    expected: ['parameter_bindings'],
  },
  {
    id: 'T-14',
    what: 'authoritative "yes" spoils the declaration',
    run: () =>
      faultsOf(
        { ...search, parameter_bindings: { a: { source: 'context', path: 'a', authoritative: 'yes' } } },
        'server',
      ),
    expected: ['parameter_bindings'],
  },
  {
    id: 'T-15',
    what: 'the default of a secret is hidden in the declaration',
    run: () => declared({ parameter_defaults: { api_key: 'k', max_tokens: 5 } }).parameter_defaults,
    expected: { api_key: '[redacted]', max_tokens: 5 },
  },
  {
    id: 'T-15',
    what: 'a hidden default counts as missing and is never executed',
    run: () => refusal({ parameters: { required: ['api_key'] }, parameter_defaults: { api_key: 'k' } }, {}),
    expected: { error_type: 'missing_required_parameters', missing_parameters: ['api_key'] },
  },
]

export const declarationDifferences: readonly Difference[] = [
  { id: 'T-01', because: 'ruling 35', ours: 'strict client declarations need a description, an executor and a scope' },
  { id: 'T-03', because: 'ruling 35', ours: 'names without a namespace are rejected and reported' },
  { id: 'T-15', because: 'ruling 36, trap 08', ours: 'the hidden default is dropped at execution instead of executed' },
]
