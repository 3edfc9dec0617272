// `parley-gateway/testing`: the kit that every adapter passes, for any test runner of Node, and a stand-in for a platform.

export { adapterContract, type TestRunner } from './testing/adapter-contract.ts'
export { type AdapterFixtures, type Clause, clauses, type VendorAnswer } from './testing/adapter-fixtures.ts'
export {
  type Fault,
  type RecordedCall,
  type ScriptedServer,
  startScriptedServer,
  type VendorReply,
  type VendorRequest,
  type VendorRoutes,
} from './testing/scripted-server.ts'
