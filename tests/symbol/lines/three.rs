// Methods in types, generic functions, closures.
struct Shape {
    side: u64,
}

impl Shape {
    fn area(&self) -> u64 {
        self.side * self.side
    }

    #[inline(never)]
    fn grow(&mut self, by: u64) -> u64 {
        self.side += by;
        self.area()
    }
}

trait Weigh {
    fn weigh(&self) -> u64;
}

impl Weigh for Shape {
    #[inline(never)]
    fn weigh(&self) -> u64 {
        self.area() + 1
    }
}

fn main() {
    let mut shapes: Vec<Shape> = (0..40).map(|n| Shape { side: n % 7 }).collect();
    let grown: u64 = shapes.iter_mut().map(|s| s.grow(2)).sum();
    shapes.sort_by_key(|s| s.weigh());
    println!("{} {}", grown, shapes.iter().map(|s| s.weigh()).max().unwrap_or(0));
}
