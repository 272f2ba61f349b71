import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { PROGRAM_VERSION } from '#service/version'
import { everyCommand, nameOf, optionsOf } from '../../scripts/command-options.ts'
import { ROOT } from '../fixtures/documentation.ts'
import { PYTHON, skipsWithoutPython } from '../fixtures/services/python.ts'
import { skip } from '../fixtures/shared.ts'
import { temporaryFolder } from '../fixtures/stores/stores.ts'

const KUBERNETES = join(ROOT, 'deploy/kubernetes')

const isInstalled = (...command: [string, ...string[]]) =>
  spawnSync(command[0], command.slice(1), { stdio: 'ignore' }).status === 0

/** The documents of a text of YAML; null if the test is skipped. */
function parseYaml<T>(t: TestContext, text: string): T[] | null {
  if (skipsWithoutPython(t, 'yaml')) return null
  const script = 'import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(sys.stdin))))'
  const { status, stdout, stderr } = spawnSync(PYTHON, ['-c', script], { input: text, encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  return JSON.parse(stdout)
}

/** Programs that render a kustomization. */
const RENDERERS: [string, string][] = [
  ['kubectl', 'kustomize'],
  ['kustomize', 'build'],
]

/** What would be applied to a cluster, as YAML; null if the test is skipped. */
function rendered(t: TestContext): string | null {
  const renderer = RENDERERS.find((command) => isInstalled(...command, '--help'))
  if (renderer === undefined) {
    skip(t, 'kubectl or kustomize is not installed')
    return null
  }
  const [program, command] = renderer
  const { status, stdout, stderr } = spawnSync(program, [command, KUBERNETES], { encoding: 'utf8' })
  assert.deepEqual([status, stderr], [0, ''])
  return stdout
}

type Probe = { httpGet: { path: string; port: string } }
type Container = {
  name: string
  image: string
  args: string[]
  env?: { name: string; value: string }[]
  ports: { name: string; containerPort: number }[]
  securityContext: Record<string, unknown>
  resources: { requests: object; limits: object }
  startupProbe: Probe
  livenessProbe: Probe
  readinessProbe?: Probe
}
type Pod = {
  enableServiceLinks: boolean
  automountServiceAccountToken: boolean
  terminationGracePeriodSeconds: number
  securityContext: Record<string, unknown>
  containers: Container[]
}
type Kind = 'ConfigMap' | 'Service' | 'StatefulSet' | 'Deployment'
type Manifest = {
  kind: Kind
  metadata: { name: string }
  data?: Record<string, string>
  spec: { template: { spec: Pod }; publishNotReadyAddresses?: boolean }
}

describe('The example for Kubernetes', () => {
  test('has the fields that Kubernetes knows, with their types', (t) => {
    const validate = process.env.LYRA_KUBERNETES_VALIDATE ?? 'kubernetes-validate'
    if (!isInstalled(validate, '--version'))
      return skip(t, 'kubernetes-validate is not installed; LYRA_KUBERNETES_VALIDATE may name it')
    const text = rendered(t)
    if (text === null) return
    const check = (manifests: string) => {
      const file = join(temporaryFolder(t), 'lyra.yaml')
      writeFileSync(file, manifests)
      return spawnSync(validate, ['--strict', file], { encoding: 'utf8' })
    }
    const { status, stdout, stderr } = check(text)
    assert.equal(status, 0, stdout + stderr)
    assert.notEqual(check(text.replaceAll('enableServiceLinks', 'enableServiceLink')).status, 0)
  })

  test('starts commands of this version with settings that they have, and as little rights as the image needs', async (t) => {
    const text = rendered(t)
    const manifests = text === null ? null : parseYaml<Manifest>(t, text)
    if (manifests === null) return
    const pods = manifests.filter(({ kind }) => kind === 'StatefulSet' || kind === 'Deployment')
    assert.equal(pods.length, 2)
    const variables = new Map(
      (await everyCommand()).map((command) => [
        nameOf(command),
        optionsOf(command).map(({ variable }) => variable),
      ]),
    )
    for (const { spec } of pods) {
      const pod = spec.template.spec
      // Else a service named lyra sets LYRA_PORT, which is a setting.
      assert.equal(pod.enableServiceLinks, false)
      assert.equal(pod.automountServiceAccountToken, false)
      assert.ok(pod.terminationGracePeriodSeconds >= 30)
      assert.equal(pod.securityContext.runAsNonRoot, true)
      for (const container of pod.containers) {
        const { name, args, env = [], ports } = container
        assert.equal(container.image, `registry.example/lyra:${PROGRAM_VERSION}`)
        assert.deepEqual(container.securityContext, {
          allowPrivilegeEscalation: false,
          capabilities: { drop: ['ALL'] },
          readOnlyRootFilesystem: true,
        })
        assert.ok('memory' in container.resources.requests && 'memory' in container.resources.limits, name)
        for (const one of env) assert.ok(variables.get(args[0]!)!.includes(one.name), `${name}: ${one.name}`)
        for (const probe of [container.startupProbe, container.livenessProbe, container.readinessProbe]) {
          if (probe === undefined) continue
          assert.ok(['/health', '/ready', '/metrics'].includes(probe.httpGet.path), name)
          assert.ok(
            ports.some((port) => port.name === probe.httpGet.port),
            name,
          )
        }
      }
    }
    const settings = manifests.find(({ kind }) => kind === 'ConfigMap')!.data!
    for (const name of Object.keys(settings)) assert.ok(variables.get('receive')!.includes(name), name)
    const core = manifests.find(({ metadata }) => metadata.name === 'lyra-core')!
    assert.equal(core.spec.publishNotReadyAddresses, true, 'the core connects before the pod is ready')
  })
})

describe('The workflow', () => {
  type Step = { uses?: string; run?: string }
  type Workflow = { permissions: object; jobs: Record<string, { permissions?: object; steps: Step[] }> }

  test('runs .ci/run and nothing else, with the right to read', (t) => {
    const files = globSync('.github/workflows/*', { cwd: ROOT })
    assert.deepEqual(files, ['.github/workflows/ci.yml'])
    const parsed = parseYaml<Workflow>(t, readFileSync(join(ROOT, files[0]!), 'utf8'))
    if (parsed === null) return
    const [{ permissions, jobs }] = parsed as [Workflow]
    assert.deepEqual(permissions, { contents: 'read' })
    const [job, ...others] = Object.values(jobs)
    assert.deepEqual([others.length, job!.permissions], [0, undefined])
    const [checkout, run, ...more] = job!.steps
    assert.match(checkout!.uses!, /^actions\/checkout@v\d+$/)
    assert.deepEqual([run, more], [{ run: '.ci/run' }, []])
  })
})
