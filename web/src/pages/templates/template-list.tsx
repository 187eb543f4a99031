import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { exampleOf } from '../../api/example.ts';
import { Button } from '../../components/button.tsx';
import { Json, RequestExample } from '../../components/code.tsx';
import { Loading, Page, Section } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { useAction } from '../../components/use-action.ts';
import { useSession } from '../../session/context.tsx';

/** Workflows to begin with: each shows one thing. */
export default function TemplateList() {
  const { api, environment, key, may } = useSession();
  const navigate = useNavigate();
  const templates = useQuery({
    queryKey: key('templates'),
    queryFn: ({ signal }) => api.workflowTemplates.list({}, { signal }).page(),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const use = useAction(async (template: string) => {
    const { id } = await api.workflows.create({ template } as never);
    await navigate({ to: '/workflows/$workflowId', params: { workflowId: id } });
  });
  return (
    <Page title="Templates">
      {templates.error && <Problem error={templates.error} retry={() => void templates.refetch()} />}
      {use.error !== undefined && <Problem error={use.error} />}
      {templates.isPending && <Loading what="templates" />}
      <div className="grid gap-x-5 lg:grid-cols-2">
        {templates.data?.items.map((template) => (
          <Section
            key={template.id}
            title={template.name}
            actions={
              may('member') && (
                <Button look="primary" isBusy={use.isBusy} onClick={() => void use.run(template.id)}>
                  Use
                </Button>
              )
            }
          >
            <p className="mt-0">{template.description}</p>
            <h3 className="mb-1 text-sm font-medium">Example</h3>
            <Json label={`Example for ${template.name}`} value={template.example} />
            {may('member') && (
              <RequestExample
                {...exampleOf(
                  {
                    method: 'POST',
                    path: '/api/v1/workflows',
                    body: { template: template.id },
                    call: `workflows.create({ template: '${template.id}' })`,
                  },
                  environment,
                )}
              />
            )}
          </Section>
        ))}
      </div>
    </Page>
  );
}
